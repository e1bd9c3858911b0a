package linefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// A File writes lines to a file, which it opens when the first one comes, and turns.
type File struct {
	conf    atomic.Pointer[Config] // of the newest routes
	path    string
	policy  Sync
	journal *Journal // nil for none
	place   string   // the path in the journal, the same however the routes write it
	old     *tidier  // of those that it was renamed to
	logger  *slog.Logger
	ctx     context.Context // of the output, in which old ones are tidied

	file    *os.File
	regular bool // not a pipe or a device, of which nobody can say afterwards what is in it
	size    int64
	day     string
	ahead   int // so many of the bytes to be written next are in the journal
}

// NewFile returns the target for a file. Its settings are still to be given by configure.
func NewFile(path, place string, policy Sync, journal *Journal, right func() bool, logger *slog.Logger) *File {
	t := &File{path: path, place: place, policy: policy, journal: journal, logger: logger}
	t.old = &tidier{conf: &t.conf, path: path, trusted: right}
	return t
}

// Configure sets the settings of the newest routes.
func (t *File) Configure(conf *Config) { t.conf.Store(conf) }

func (t *File) warn(what string, err error) {
	t.logger.Error("logs: "+what, "file", t.path, "error", err)
}

// rotated has a file that is complete compressed, and old ones deleted, in a task.
func (t *File) rotated(name string) {
	conf := t.conf.Load()
	if !conf.Compress && conf.MaxAge == 0 && conf.MaxTotal == 0 || !t.old.rotated(name) {
		return
	}
	meanwhile.Go(t.ctx, func(context.Context) error {
		if err := t.old.run(); err != nil {
			t.warn("tidy rotated files", err)
		}
		return nil
	}, meanwhile.Name("tidy "+t.path))
}

func (t *File) write(_ context.Context, lines []byte, from []Received) (n int, err error) {
	if err := t.open(); err != nil {
		return 0, err
	}
	conf, day := t.conf.Load(), time.Now().Format(time.DateOnly)
	fits := len(lines)
	if conf.MaxBytes > 0 && t.size+int64(fits) > conf.MaxBytes {
		space := max(conf.MaxBytes-t.size, 0)
		fits = bytes.LastIndexByte(lines[:min(space, int64(fits))], '\n') + 1
	}
	if t.size > 0 && (fits == 0 || conf.Daily && day != t.day) {
		if name, err := t.rotate(); err != nil {
			t.warn("turn a file", err) // and go on in it: better too long than lost
		} else {
			err = t.open() // before that one may be deleted: the journal tells them apart by their inodes
			t.rotated(name)
			return 0, err
		}
	}
	if fits == 0 { // a line longer than a file may be
		if fits = bytes.IndexByte(lines, '\n') + 1; fits == 0 {
			fits = len(lines)
		}
	}
	if t.ahead == 0 && len(from) > 0 && t.journal != nil && t.regular {
		if err := t.announce(lines, from); err != nil {
			return 0, err
		}
	}
	n, err = t.file.Write(lines[:fits])
	t.size += int64(n)
	if t.ahead > 0 {
		t.ahead -= n
		if t.policy == SyncOS {
			t.settle()
		}
	}
	return n, err
}

// announce has the journal say what is to be written here, all of it, also when not all fits in the file: if this process
// dies before it has begun the next file, the rest comes into this one.
func (t *File) announce(lines []byte, from []Received) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	err = t.journal.add(&journalEntry{kind: kindLines, path: t.place, inode: inodeOf(info), off: info.Size(), received: from, lines: lines})
	if err == nil {
		t.ahead = len(lines)
	}
	return err
}

// settle tells the journal that all it says is in the file.
func (t *File) settle() {
	if t.journal != nil && t.ahead == 0 {
		t.journal.settle(t.place)
	}
}

func (t *File) open() error {
	if t.file != nil {
		return nil
	}
	if t.journal != nil {
		if err := t.journal.open(false); err != nil {
			return err
		}
	}
	mode := os.FileMode(t.conf.Load().Mode)
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
	t.file, t.regular, t.size, t.day = file, info.Mode().IsRegular(), info.Size(), time.Now().Format(time.DateOnly)
	if t.size > 0 {
		t.day = info.ModTime().Format(time.DateOnly)
		if err := t.endLine(info); err != nil {
			return errors.Join(err, t.close()) // the next write begins here again
		}
	} else if t.regular && t.policy != SyncOS {
		// What the journal tells of is to be there after a power cut, where the system can and lets us see to it.
		_ = datafolder.Sync(filepath.Dir(t.path))
	}
	return nil
}

// endLine ends a line that a process has left torn, so that none is written behind a part of another.
func (t *File) endLine(info fs.FileInfo) error {
	if !t.regular {
		return nil
	}
	f, err := os.Open(t.path)
	if err != nil {
		return nil // it may be written, and not read
	}
	defer f.Close()
	if torn, err := tornLine(f, info); !torn || err != nil {
		return nil
	}
	n, err := t.file.WriteString("\n")
	t.size += int64(n)
	return err
}

// rotate ends the file and gives it a name with the time.
func (t *File) rotate() (name string, err error) {
	if err := t.sync(); err != nil {
		return "", err
	}
	extension := filepath.Ext(t.path)
	begin := strings.TrimSuffix(t.path, extension) + time.Now().UTC().Format("-20060102T150405.000000")
	name = begin + extension
	for i := 1; exists(name) || exists(name+zstdExtension); i++ {
		name = fmt.Sprintf("%s-%d%s", begin, i, extension)
	}
	if err := os.Rename(t.path, name); err != nil {
		return "", err
	}
	if err := t.close(); err != nil {
		t.warn("close a file", err)
	}
	return name, nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func (t *File) sync() error {
	if t.file == nil || !t.regular || t.policy == SyncOS {
		return nil
	}
	if t.journal != nil {
		if err := t.journal.sync(); err != nil {
			return err
		}
	}
	err := t.file.Sync()
	if err == nil {
		t.settle()
	}
	return err
}

func (t *File) close() error {
	if t.file == nil {
		return nil
	}
	file := t.file
	t.file, t.ahead = nil, 0
	return file.Close()
}
