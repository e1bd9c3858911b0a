package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A File is a file of a journal. One goroutine at a time appends to it; the other methods may be called at any time.
type File struct {
	Number uint64
	Made   time.Time

	folder *Folder
	file   *os.File
	uses   atomic.Int32

	// Used by the goroutine that appends.
	torn    bool // there is data behind size that could not be cut off
	scratch []byte

	mu      sync.Mutex
	size    int64 // of the whole frames
	synced  int64 // how much of it is on disk
	waiting []*Commit
	syncing chan struct{} // closed when the current sync has ended; nil if none is running
	failed  error         // of a sync; then it is unknown what is on disk after synced
	gone    bool          // the file is no longer at its path
}

func newFile(d *Folder, file *os.File, number uint64, made time.Time) *File {
	f := &File{Number: number, Made: made, folder: d, file: file, size: HeadSize, synced: HeadSize}
	f.uses.Store(1)
	return f
}

// ErrBroken is the error of a file that accepts no more frames: earlier frames may not be on disk, or the file was deleted or moved.
var ErrBroken = errors.New("the journal could not be brought to disk, and another one is to be begun")

var errGone = errors.New("the file was deleted or moved while it was in use")

var errTorn = errors.New("a failed write was not cut off the journal")

// Append appends a frame. It returns the Commit to wait for, and the offset of the first part. After an error the file does not have the frame; then
// Append fails until [File.Repair] has cut off what was left of it.
func (f *File) Append(table []byte, parts ...[]byte) (c *Commit, at int64, err error) {
	f.mu.Lock()
	synced, failed := f.synced, f.failed
	f.mu.Unlock()
	switch {
	case failed != nil:
		return nil, 0, failed
	case f.torn:
		return nil, 0, errTorn
	}
	body := int64(0)
	for _, part := range parts {
		body += int64(len(part))
	}
	f.scratch = appendFrame(f.scratch[:0], table, body, synced)
	at = f.size + int64(len(f.scratch))
	if err := f.write(parts); err != nil {
		f.torn = true
		_ = f.Repair()
		return nil, 0, fmt.Errorf("write journal: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c = &Commit{file: f, end: at + body}
	switch {
	case !f.folder.Durable:
		c.done = true
	case f.failed != nil: // the frame is behind what will be cut off
		c.done, c.err = true, f.failed
		return c, at, nil
	default:
		f.waiting = append(f.waiting, c)
	}
	f.size = c.end
	return c, at, nil
}

// write writes the scratch buffer and then parts. It combines small parts into one write.
func (f *File) write(parts [][]byte) error {
	const small = 16 << 10
	off := f.size
	flush := func(b []byte) error {
		err := f.folder.Disk.WriteAt(f.file, b, off)
		off += int64(len(b))
		return err
	}
	for _, part := range parts {
		if len(part) <= small {
			f.scratch = append(f.scratch, part...)
			if len(f.scratch) < 16*small {
				continue
			}
		}
		if len(f.scratch) > 0 {
			if err := flush(f.scratch); err != nil {
				return err
			}
			f.scratch = f.scratch[:0]
		}
		if len(part) > small {
			if err := flush(part); err != nil {
				return err
			}
		}
	}
	if len(f.scratch) == 0 {
		return nil
	}
	return flush(f.scratch)
}

// Repair cuts off what a failed write or sync has left, if anything. It must be called before the content of a new frame is decided, which may depend
// on the frames before it. It fails with [ErrBroken] for a file that accepts no more frames.
func (f *File) Repair() error {
	f.mu.Lock()
	if f.failed != nil && !f.folder.Durable {
		f.mu.Unlock()
		return ErrBroken
	}
	lost, broken := f.failed != nil, error(nil)
	if lost {
		f.size, f.torn = f.synced, true
	}
	if f.gone {
		broken = ErrBroken
	}
	f.mu.Unlock()
	if !f.torn {
		return broken
	}
	if err := f.folder.Disk.Truncate(f.file, f.size); err != nil {
		return fmt.Errorf("cut a failed write off the journal: %w", err)
	}
	f.torn = false
	if lost { // another sync may have failed since
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = nil
	}
	return broken
}

// inPlace returns errGone if the file is no longer found at its path.
func (f *File) inPlace() error {
	there, err := os.Stat(f.Path())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errGone
		}
		return nil // it may still be there
	}
	if own, err := f.file.Stat(); err == nil && !os.SameFile(own, there) {
		return errGone
	}
	return nil
}

// Path returns the path of the file.
func (f *File) Path() string { return f.folder.Path(f.Number) }

// Size returns the offset of the next frame.
func (f *File) Size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size
}

// ReadAt reads from the file, like [os.File.ReadAt].
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.file.ReadAt(b, off) }

// Use keeps the file open until a further Release. Whoever creates or opens the file has its first use.
func (f *File) Use() { f.uses.Add(1) }

// Release ends a use. The last one closes the file.
func (f *File) Release() {
	if f.uses.Add(-1) == 0 {
		_ = f.file.Close()
	}
}

// Remove deletes the file, unless it is gone already. Its users may still read it.
func (f *File) Remove() error {
	f.mu.Lock()
	gone := f.gone
	f.mu.Unlock()
	if gone {
		return nil
	}
	if err := f.folder.Disk.Remove(f.Path()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
