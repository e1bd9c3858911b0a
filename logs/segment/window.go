package segment

import (
	"errors"
	"io"
)

// A window reads small pieces of a file from a large piece around them, which it keeps.
type window struct {
	file io.ReaderAt
	back bool // it is read from the end to the beginning
	off  int64
	b    []byte
}

const windowBytes = 256 << 10

// ReadAt implements io.ReaderAt, for one caller at a time.
func (w *window) ReadAt(b []byte, off int64) (int, error) {
	if len(b) > windowBytes/4 {
		return w.file.ReadAt(b, off)
	}
	if off < w.off || off+int64(len(b)) > w.off+int64(len(w.b)) {
		if w.b == nil {
			w.b = make([]byte, windowBytes)
		}
		w.off = off
		if w.back {
			w.off = max(0, off+int64(len(b))-windowBytes)
		}
		n, err := w.file.ReadAt(w.b[:windowBytes], w.off)
		w.b = w.b[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			w.b = w.b[:0]
			return 0, err
		}
		if off+int64(len(b)) > w.off+int64(n) {
			return 0, io.EOF
		}
	}
	return copy(b, w.b[off-w.off:]), nil
}
