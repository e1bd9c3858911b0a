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

// A File writes lines to a file, and rotates it. It opens the file when the first line arrives.
type File struct {
	conf    atomic.Pointer[Config] // of the newest routes
	path    string
	policy  Sync
	journal *Journal // nil for none
	place   string   // the path in the journal, which is the same for all spellings in routes
	disk    datafolder.Disk
	old     *tidier // of the rotated files
	logger  *slog.Logger
	ctx     context.Context // of the output, the scope of the task that compresses and deletes rotated files

	file     *os.File
	regular  bool // whether it is a regular file: the content of a pipe or device cannot be checked after a kill
	size     int64
	day      string
	ahead    int  // how many of the bytes to be written next are in the journal
	owed     bool // whether the file was closed before they were written, and the journal does not have them for the next one yet
	unsynced unsyncedLines
}

// NewFile returns the target for a file. Call Configure before the first write.
func NewFile(path, place string, policy Sync, journal *Journal, right func() bool, logger *slog.Logger) *File {
	t := &File{path: path, place: place, policy: policy, journal: journal, logger: logger, unsynced: unsyncedLines{memory: new(Memory)}}
	t.old = &tidier{conf: &t.conf, path: path, trusted: right}
	return t
}

// Configure sets the settings of the newest routes.
func (t *File) Configure(conf *Config) { t.conf.Store(conf) }

func (t *File) warn(what string, err error) {
	t.logger.Error("logs: "+what, "file", t.path, "error", err)
}

// rotated starts a task, if there is none, that compresses a file that was rotated and deletes old ones. It is in the background, so that a
// server which ends or hands over does not wait for it: compressing a large file takes minutes.
func (t *File) rotated(name string) {
	conf := t.conf.Load()
	if !conf.Compress && conf.MaxAge == 0 && conf.MaxTotal == 0 || !t.old.rotated(name) {
		return
	}
	meanwhile.Go(t.ctx, func(ctx context.Context) error {
		if err := t.old.run(ctx); err != nil {
			t.warn("tidy rotated files", err)
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("tidy "+t.path))
}

func (t *File) write(_ context.Context, lines []byte, from []Received) (n int, err error) {
	if err := t.open(); err != nil {
		return 0, err
	}
	if t.unsynced.full() {
		if err := t.sync(); err != nil {
			return 0, err
		}
	}
	conf, day := t.conf.Load(), time.Now().Format(time.DateOnly)
	fits := len(lines)
	if conf.MaxBytes > 0 && t.size+int64(fits) > conf.MaxBytes {
		space := max(conf.MaxBytes-t.size, 0)
		fits = bytes.LastIndexByte(lines[:min(space, int64(fits))], '\n') + 1
	}
	if t.size > 0 && (fits == 0 || conf.Daily && day != t.day) {
		if err := t.sync(); err != nil {
			return 0, err
		}
		if name, err := t.rotate(); err != nil {
			t.warn("rotate a file", err) // continue in this file: better too large than lost
		} else {
			err = t.open() // before the old one may be deleted: the journal distinguishes them by their inodes
			if name != "" {
				t.rotated(name)
			}
			return 0, err
		}
	}
	if fits == 0 { // a line that is longer than the largest file
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
	t.keep(lines[:n])
	if t.ahead > 0 {
		t.ahead -= n
		if t.policy == SyncOS {
			t.noteWritten()
		}
	}
	return n, err
}

// announce writes an entry to the journal with all lines that are going to be written here, even if they do not all fit in the file: if
// this process is killed before it has begun the next file, the rest is written to this one.
func (t *File) announce(lines []byte, from []Received) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	err = t.journal.add(&journalEntry{kind: kindLines, path: t.place, inode: inodeOf(info), off: info.Size(), received: from, lines: lines})
	if err == nil {
		t.ahead, t.owed = len(lines), false
	}
	return err
}

// noteWritten notes in the journal that all of its lines are in the file.
func (t *File) noteWritten() {
	if t.journal != nil && t.ahead == 0 && !t.owed {
		t.journal.noteWritten(t.place)
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
	} else if t.syncs() {
		// The directory entry is synced, so that the file is there after a power failure, as the journal says.
		_ = datafolder.Sync(filepath.Dir(t.path))
	}
	if t.unsynced.size > 0 {
		err = t.writeAgain(info)
	} else {
		err = t.endLine(info)
	}
	if err != nil {
		return errors.Join(err, t.close()) // the next write opens it again
	}
	return nil
}

// endLine ends a line that a killed process has left incomplete, so that the next line does not continue it.
func (t *File) endLine(info fs.FileInfo) error {
	if !t.regular || info.Size() == 0 {
		return nil
	}
	f, err := os.Open(t.path)
	if err != nil {
		return nil // the file may be writable and not readable
	}
	defer f.Close()
	if torn, err := tornLine(f, info); !torn || err != nil {
		return nil
	}
	n, err := t.file.WriteString("\n")
	t.size += int64(n)
	t.keep([]byte("\n")[:n])
	return err
}

// rotate closes the file, which is synced, and renames it to a name with the time. It returns no name if the file was deleted.
func (t *File) rotate() (name string, err error) {
	extension := filepath.Ext(t.path)
	begin := strings.TrimSuffix(t.path, extension) + time.Now().UTC().Format("-20060102T150405.000000")
	name = begin + extension
	for i := 1; exists(name) || exists(name+zstdExtension); i++ {
		name = fmt.Sprintf("%s-%d%s", begin, i, extension)
	}
	if err := os.Rename(t.path, name); errors.Is(err, fs.ErrNotExist) {
		t.logger.Warn("logs: a file was deleted while it was written; the next one is begun", "file", t.path)
		name = ""
	} else if err != nil {
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

// sync brings what was written to disk. After it has failed, it succeeds only when that was written again.
func (t *File) sync() error {
	if t.unsynced.size > 0 {
		if err := t.open(); err != nil {
			return err
		}
	}
	if t.file == nil || !t.syncs() {
		return nil
	}
	if t.journal != nil {
		if err := t.journal.sync(); err != nil {
			return err
		}
	}
	if err := t.disk.Sync(t.file); err != nil {
		t.syncFailed()
		return err
	}
	t.unsynced.forget()
	t.noteWritten()
	return nil
}

func (t *File) close() error {
	if t.file == nil {
		return nil
	}
	file := t.file
	t.file, t.ahead, t.owed = nil, 0, t.owed || t.ahead > 0
	if t.unsynced.size == 0 {
		t.unsynced.chunks = nil
	}
	return file.Close()
}
