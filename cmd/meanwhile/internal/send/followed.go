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

// headSize is the number of bytes at the start of a file that distinguish it from another file in its place.
const headSize = 256

// A followed file is read as it grows. It stays open until it is gone, so that data written after it was renamed or deleted is read as well.
type followed struct {
	f      *os.File
	info   os.FileInfo
	lines  *lines
	failed error // error of sending a record

	at       int64  // offset up to which it was read
	line     int64  // offset of the last line that was read
	safe     int64  // offset up to which records were sent
	pending  bool   // a record that may continue starts at safe
	taken    int    // number of records when the last line ended
	head     []byte // its first bytes
	size     int64  // size when it was last checked
	modified time.Time

	mu   sync.Mutex
	path string
	real string    // target of path if it has a symbolic link, since files are renamed there; else empty
	gone time.Time // time since which no matching path leads to it, or when it last grew after that; zero while one does
}

// openFollowed opens a file, and continues at the position that take returns for it.
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

// read reads new data into buf, and returns its size.
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

// replaced reports whether the data that was read is no longer in the file: it was truncated, and may have grown again.
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

// writeLines passes data to lines, one line at a time, to know where each record ends.
func (f *followed) writeLines(b []byte) {
	for len(b) > 0 && f.failed == nil {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		_, _ = f.lines.Write(b[:i]) // Write never fails
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

// ended is called when a line has ended: it belongs to a record that was sent, or to one that may continue.
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

// idle sends a record that no line has followed for a while, and reports whether it did.
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

// end sends the rest of a file that is gone.
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

// realPath returns the target of a path with symbolic links, or "" if it has none.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		return target
	}
	return ""
}

// matches records whether a matching path leads to the file.
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

// grown records that the file is still being written.
func (f *followed) grown(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gone.IsZero() {
		f.gone = now
	}
}

// over reports whether no more data is expected.
func (f *followed) over(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.gone.IsZero() && now.Sub(f.gone) >= goneFor
}

// position returns the position up to which everything was sent in records.
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
