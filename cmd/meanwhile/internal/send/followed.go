package send

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// headSize is how much of the beginning of a file tells it from another one in its place.
const headSize = 256

// A followed file is one that is read as it grows. It is open until it has gone, so that what is written to it after it was renamed
// or deleted is read as well.
type followed struct {
	f      *os.File
	info   os.FileInfo
	lines  *lines
	failed error // of who takes the records

	at       int64  // up to where it was read
	line     int64  // where the line begins that was read last
	safe     int64  // up to where records were taken
	pending  bool   // a record that may go on begins at safe
	taken    int    // records of lines when the last line had ended
	head     []byte // its first bytes
	size     int64  // when it was looked at last
	modified time.Time

	mu   sync.Mutex
	path string
	real string    // where a symbolic link in path leads to, which is where the file is renamed; else empty
	gone time.Time // since when no path that matches leads to it, or it has grown after that; zero: one does
}

// openFollowed opens a file, and goes on at the position that take has for it.
func openFollowed(path string, take func(path string, info os.FileInfo) (position, bool)) (*followed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	file := &followed{f: f, path: path, real: realPath(path)}
	if file.info, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, err
	}
	if p, ok := take(path, file.info); ok && p.Offset <= file.info.Size() && p.Head <= headSize {
		head, err := file.readHead(p.Head)
		if err == nil && p.Sum == sum(head) {
			file.at, file.line, file.safe, file.head = p.Offset, p.Offset, p.Offset, head
		}
	}
	return file, nil
}

// read reads what is new into buf, and returns how much that was.
func (f *followed) read(buf []byte, now time.Time) (n int, err error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, errors.Unwrap(err)
	}
	if info.Size() == f.size && info.ModTime().Equal(f.modified) && f.at == f.size {
		return 0, nil
	}
	f.size, f.modified = info.Size(), info.ModTime()
	if f.replaced() {
		f.end()
		f.at, f.line, f.safe, f.pending, f.head = 0, 0, 0, false, nil
	}
	n, err = f.f.ReadAt(buf, f.at)
	if f.writeLines(buf[:n]); len(f.head) < headSize && f.failed == nil {
		if head, err := f.readHead(int(min(headSize, f.at))); err == nil {
			f.head = head
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if n > 0 {
		f.grown(now)
	}
	return n, err
}

// replaced reports whether what was read is not there any more: the file was truncated, and may have grown again.
func (f *followed) replaced() bool {
	if f.size < f.at {
		return true
	}
	head, err := f.readHead(len(f.head))
	return err == nil && !bytes.Equal(head, f.head)
}

func (f *followed) readHead(size int) ([]byte, error) {
	head := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(f.f, 0, int64(size)), head)
	return head, err
}

// writeLines gives what was read to the lines, one by one, to know where each record ends.
func (f *followed) writeLines(b []byte) {
	for len(b) > 0 && f.failed == nil {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		_, _ = f.lines.Write(b[:i]) // which never fails
		if f.failed != nil {
			return
		}
		f.at += int64(i)
		if b[i-1] == '\n' {
			f.ended()
		}
		b = b[i:]
	}
}

// ended notes that a line has ended: it is in a record that was taken, or in one that may go on.
func (f *followed) ended() {
	pending, taken := f.lines.progress()
	switch {
	case !pending:
		f.safe = f.at
	case !f.pending || taken != f.taken:
		f.safe = f.line
	}
	f.pending, f.taken, f.line = pending, taken, f.at
}

// idle sends a record that no line has followed for a while, and reports whether it has.
func (f *followed) idle(now time.Time) (sent bool) {
	if !f.pending {
		return false
	}
	f.lines.idle(now)
	pending, taken := f.lines.progress()
	if sent = !pending && f.failed == nil; sent {
		f.pending, f.taken, f.safe = false, taken, f.line
	}
	return sent
}

// end sends what is left of a file of which nothing more comes.
func (f *followed) end() {
	if f.lines.close(); f.failed == nil {
		_, f.taken = f.lines.progress()
		f.safe, f.line, f.pending = f.at, f.at, false
	}
}

func (f *followed) name() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.path
}

func (f *followed) rename(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path != path {
		f.path, f.real = path, realPath(path)
	}
}

// realPath returns where symbolic links in a path lead to, and nothing where there are none.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		return target
	}
	return ""
}

// matches notes whether a path that matches leads to it.
func (f *followed) matches(does bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case does:
		f.gone = time.Time{}
	case f.gone.IsZero():
		f.gone = now
	}
}

// grown notes that somebody writes to it.
func (f *followed) grown(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gone.IsZero() {
		f.gone = now
	}
}

// over reports whether nothing more is to be expected of it.
func (f *followed) over(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.gone.IsZero() && now.Sub(f.gone) >= goneFor
}

// position returns up to where all that was read is in records that were taken.
func (f *followed) position() position {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := f.head[:min(int64(len(f.head)), f.safe)]
	device, inode := fileID(f.info)
	return position{Path: f.path, Real: f.real, Device: device, Inode: inode, Offset: f.safe, Head: len(head), Sum: sum(head)}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
