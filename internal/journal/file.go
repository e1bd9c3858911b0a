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

// A File is one of a journal. One goroutine at a time appends to it; the other methods may be called at once.
type File struct {
	Number uint64
	Made   time.Time

	folder *Folder
	file   *os.File
	uses   atomic.Int32

	// Of who appends.
	torn    bool // more than size is in the file, and could not be cut off
	scratch []byte

	mu      sync.Mutex
	size    int64 // of what is whole
	synced  int64 // so much of it is on disk
	waiting []*Commit
	syncing chan struct{} // closed when the sync that runs has ended; nil when none does
	failed  error         // of a sync, after which nobody knows what is on disk behind synced
	gone    bool          // another file is in its place, or none
}

func newFile(d *Folder, file *os.File, number uint64, made time.Time) *File {
	f := &File{Number: number, Made: made, folder: d, file: file, size: HeadSize, synced: HeadSize}
	f.uses.Store(1)
	return f
}

// ErrBroken is that of a file that takes no more frames, as those before may not be on disk, or the file was deleted or moved.
var ErrBroken = errors.New("the journal could not be brought to disk, and another one is to be begun")

var errGone = errors.New("the file was deleted or moved while it was in use")

var errTorn = errors.New("a failed write was not cut off the journal")

// Append appends a frame. It returns what to wait for, and the offset of the first part. When it fails, there is no frame. It fails as long
// as [File.Repair] has not cut off what another one has left.
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
	case f.failed != nil: // what it lies behind will be cut off
		c.done, c.err = true, f.failed
		return c, at, nil
	default:
		f.waiting = append(f.waiting, c)
	}
	f.size = c.end
	return c, at, nil
}

// write writes what is in scratch, and parts, small ones together.
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

// Repair cuts off what a failed write or sync has left, if there is any. Who appends calls it first, before the frame is made: what that
// says may depend on which frames before it count. It fails with [ErrBroken] for a file that takes no more.
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
	if lost { // otherwise a sync may have failed meanwhile
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = nil
	}
	return broken
}

// inPlace returns errGone when the file is not found under its name any more.
func (f *File) inPlace() error {
	there, err := os.Stat(f.Path())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errGone
		}
		return nil // it may be there
	}
	if own, err := f.file.Stat(); err == nil && !os.SameFile(own, there) {
		return errGone
	}
	return nil
}

// Path returns where the file is.
func (f *File) Path() string { return f.folder.Path(f.Number) }

// Size returns where the next frame begins.
func (f *File) Size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size
}

// ReadAt reads what is in the file, as [os.File.ReadAt] does.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.file.ReadAt(b, off) }

// Use keeps the file open until another Release. Who has made or opened it has the first use.
func (f *File) Use() { f.uses.Add(1) }

// Release ends a use. The last one closes the file.
func (f *File) Release() {
	if f.uses.Add(-1) == 0 {
		_ = f.file.Close()
	}
}

// Remove deletes the file, unless somebody else has. Who uses it may still read it.
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
