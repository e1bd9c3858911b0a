package logs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// serviceInPath is where the name of the service stands in the path of a [LineFile].
const serviceInPath = "{service}"

// A fileTarget writes lines to a file, which it opens when the first one comes, and turns.
type fileTarget struct {
	conf   LineFile
	path   string
	policy Sync
	turned func(rest string) // called with the path of a file that is complete
	warn   func(what string, err error)

	file *os.File
	size int64
	day  string
}

func (t *fileTarget) write(_ context.Context, lines []byte) (n int, err error) {
	if err := t.open(); err != nil {
		return 0, err
	}
	day := time.Now().Format(time.DateOnly)
	fits := len(lines)
	if t.conf.MaxBytes > 0 && t.size+int64(fits) > t.conf.MaxBytes {
		room := max(t.conf.MaxBytes-t.size, 0)
		fits = bytes.LastIndexByte(lines[:min(room, int64(fits))], '\n') + 1
	}
	if t.size > 0 && (fits == 0 || t.conf.Daily && day != t.day) {
		if err := t.turn(); err != nil {
			t.warn("turn a file", err) // and go on in it: better too long than lost
		} else {
			return 0, t.open()
		}
	}
	if fits == 0 { // a line longer than a file may be
		if fits = bytes.IndexByte(lines, '\n') + 1; fits == 0 {
			fits = len(lines)
		}
	}
	n, err = t.file.Write(lines[:fits])
	t.size += int64(n)
	return n, err
}

func (t *fileTarget) open() error {
	if t.file != nil {
		return nil
	}
	mode := os.FileMode(t.conf.Mode)
	if mode == 0 {
		mode = 0o640
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	t.file, t.size, t.day = file, info.Size(), time.Now().Format(time.DateOnly)
	if t.size > 0 {
		t.day = info.ModTime().Format(time.DateOnly)
	}
	return nil
}

// turn ends the file and gives it a name with the time.
func (t *fileTarget) turn() error {
	if err := t.sync(); err != nil {
		return err
	}
	extension := filepath.Ext(t.path)
	begin := strings.TrimSuffix(t.path, extension) + time.Now().UTC().Format("-20060102T150405.000000")
	name := begin + extension
	for i := 1; exists(name) || exists(name+zstdExtension); i++ {
		name = fmt.Sprintf("%s-%d%s", begin, i, extension)
	}
	if err := os.Rename(t.path, name); err != nil {
		return err
	}
	err := t.close()
	t.turned(name)
	return err
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func (t *fileTarget) sync() error {
	if t.file == nil || t.policy == SyncOS {
		return nil
	}
	return t.file.Sync()
}

func (t *fileTarget) close() error {
	if t.file == nil {
		return nil
	}
	file := t.file
	t.file = nil
	return file.Close()
}

// escapeService returns a service's name as a part of a path that is no path itself.
func escapeService(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}
