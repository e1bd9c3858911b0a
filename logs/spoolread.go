package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

// rewind makes reading start at the oldest file again.
func (s *spool) rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.from = 0, 0
	s.closeIn()
}

func (s *spool) closeIn() {
	if s.in != nil {
		_ = s.in.Close()
		s.in = nil
	}
}

// next returns the next frame that has a number above acked, and its last number; nil if there is none. The frame is valid until the next
// call. Parts that cannot be read are left out, with an error that says so.
func (s *spool) next(acked uint64) (frame []byte, last uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.at < len(s.files) {
		f := s.files[s.at]
		if s.from >= f.size || f.last <= acked {
			if f.writing && s.at == len(s.files)-1 {
				return nil, 0, err
			}
			s.at, s.from = s.at+1, 0
			s.closeIn()
			continue
		}
		s.from = max(s.from, spoolHead)
		if s.in == nil {
			in, bad := os.Open(f.path)
			if bad != nil {
				err, s.from = fmt.Errorf("read the spool: %w", bad), f.size
				continue
			}
			s.in = in
		}
		frame, last, bad := readSpooled(s.in, s.from, f.size, &s.frame)
		if bad != nil {
			err = fmt.Errorf("%d bytes of the spool cannot be read: %w", f.size-s.from, bad)
			s.from = f.size
			continue
		}
		s.from += int64(len(frame))
		if last > acked {
			return frame, last, err
		}
	}
	return nil, 0, err
}

// readSpooled reads the data frame at an offset of a file with this size.
func readSpooled(r io.ReaderAt, at, size int64, buf *[]byte) (frame []byte, last uint64, err error) {
	if size-at < logwire.HeadSize {
		return nil, 0, errTorn
	}
	if cap(*buf) < logwire.HeadSize+logwire.DataFixed {
		*buf = make([]byte, 64<<10)
	}
	b := (*buf)[:logwire.HeadSize]
	if _, err := r.ReadAt(b, at); err != nil {
		return nil, 0, err
	}
	n, err := logwire.BodySize(b)
	if err != nil {
		return nil, 0, err
	}
	if int64(n) > size-at-logwire.HeadSize {
		return nil, 0, errTorn
	}
	if cap(*buf) < logwire.HeadSize+n {
		*buf = append(make([]byte, 0, logwire.HeadSize+n), b...)
	}
	frame = (*buf)[:logwire.HeadSize+n]
	if _, err := r.ReadAt(frame[logwire.HeadSize:], at+logwire.HeadSize); err != nil {
		return nil, 0, err
	}
	body := frame[logwire.HeadSize:]
	if err := logwire.Check(frame, body); err != nil {
		return nil, 0, err
	}
	if frame[0] != logwire.KindData {
		return nil, 0, logwire.ErrBody
	}
	h, _, err := logwire.ParseData(body)
	return frame, h.Last, err
}

var errTorn = errors.New("the frame is not whole")

// openSpool takes over the spool of a dead process. A torn end is cut off; torn is the number of its bytes. It fails with
// [datafolder.ErrLocked] if the process is alive.
func openSpool(folder string, id Client, limit int64) (s *spool, torn int64, err error) {
	s = newSpool(folder, id, limit)
	if s.lock, err = datafolder.Lock(s.dir); err != nil {
		return nil, 0, err
	}
	if err := s.drops.load(); err != nil {
		return nil, 0, errors.Join(err, s.lock.Close())
	}
	names, err := os.ReadDir(s.dir)
	for _, entry := range names {
		if !strings.HasSuffix(entry.Name(), ".spool") {
			continue
		}
		path := filepath.Join(s.dir, entry.Name())
		f, cut, bad := scanSpool(path, id)
		torn += cut
		switch {
		case bad != nil:
		case f == nil, s.drops.dropped(f.last): // killed before it had written a frame, or when it had counted the file as dropped
			bad = os.Remove(path)
		default:
			if cut > 0 {
				bad = os.Truncate(path, f.size)
			}
			s.files = append(s.files, f)
			s.size += f.size
		}
		err = cmp.Or(err, bad)
	}
	if err != nil {
		return nil, torn, errors.Join(err, s.lock.Close())
	}
	slices.SortFunc(s.files, func(a, b *spoolFile) int { return cmp.Compare(a.first, b.first) })
	return s, torn, nil
}

// scanSpool reads a file up to where it is torn; nil when nothing in it can be used.
func scanSpool(path string, id Client) (f *spoolFile, torn int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open the spool: %w", err)
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("open the spool: %w", err)
	}
	head := make([]byte, spoolHead)
	if _, err := in.ReadAt(head, 0); failed(err) {
		return nil, 0, fmt.Errorf("read the spool: %w", err)
	} else if err != nil || string(head) != spoolMagic+string(id[:]) {
		return nil, info.Size(), nil
	}
	f = &spoolFile{path: path, size: spoolHead, written: info.ModTime()}
	var buf []byte
	for f.size < info.Size() {
		frame, last, err := readSpooled(in, f.size, info.Size(), &buf)
		if failed(err) {
			return nil, 0, fmt.Errorf("read the spool: %w", err)
		} else if err != nil || last <= f.last {
			break
		}
		if f.last == 0 {
			h, _, _ := logwire.ParseData(frame[logwire.HeadSize:])
			f.first = h.First
		}
		f.last = last
		f.size += int64(len(frame))
	}
	if f.last == 0 {
		return nil, info.Size() - spoolHead, nil
	}
	return f, info.Size() - f.size, nil
}

// failed reports whether the system could not read a file, which says nothing about its content.
func failed(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path)
}
