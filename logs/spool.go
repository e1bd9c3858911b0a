package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// A spool keeps data frames of one identity on disk, in files that are read and removed from the oldest on. One goroutine
// writes and removes, one reads.
//
//	<folder>/<identity>/lock                  locked while a process has the spool
//	<folder>/<identity>/<first number>.spool  spoolMagic, identity, data frames
//	<folder>/<identity>/drops                 how many records were dropped; see dropCount
type spool struct {
	folder string // of all identities
	dir    string // of this one
	id     Client
	limit  int64 // bytes
	each   int64 // bytes of a file, about

	drops *dropCount

	locking sync.Mutex
	lock    *datafolder.FolderLock // nil before something is written

	out  *os.File // the file that is written; nil for none
	dirt bool     // something was written and not synced

	mu    sync.Mutex
	files []*spoolFile // the oldest first
	size  int64        // of them
	at    int          // index of the file that is read next
	from  int64        // the offset in it
	in    *os.File     // this file, open; nil if it is not open
	frame []byte       // the frame that was read last
}

// A spoolFile is what is known of one file.
type spoolFile struct {
	path        string
	first, last uint64
	size        int64
	writing     bool      // more may follow
	written     time.Time // when it was last written; for writes of this process, jumps of the clock do not matter
}

const (
	spoolMagic = "mwspool1"
	spoolHead  = int64(len(spoolMagic) + len(Client{}))
)

func newSpool(folder string, id Client, limit int64) *spool {
	dir := filepath.Join(folder, id.String())
	return &spool{
		folder: folder, dir: dir, id: id, drops: newDropCount(id, dir),
		limit: limit, each: min(max(limit/16, 64<<10), 8<<20),
	}
}

// write appends the frames of batches. If it fails, none of them counts as written. It returns how many records, the oldest ones, had to
// be dropped for space.
func (s *spool) write(acked uint64, batches []*outBatch, parts func(*outBatch) (head, payload []byte)) (commit func(sent int), dropped int64, err error) {
	if err := s.acquire(); err != nil {
		return nil, 0, err
	}
	f, err := s.current(batches[0].First)
	if err != nil {
		return nil, 0, err
	}
	size := f.size
	ends := make([]int64, len(batches))
	for i, b := range batches {
		head, payload := parts(b)
		n, err := s.out.Write(head)
		if err == nil {
			var m int
			m, err = s.out.Write(payload)
			n += m
		}
		size += int64(n)
		if err != nil {
			err = errors.Join(fmt.Errorf("write the spool: %w", err), s.abandon(f))
			return nil, 0, err
		}
		ends[i] = size
	}
	s.dirt = true
	dropped = s.makeRoom(size-f.size, acked, f)
	commit = func(sent int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		drained := s.drained()
		s.size += size - f.size
		f.size, f.last, f.written = size, batches[len(batches)-1].Last, time.Now()
		// What was sent from memory already is not read again on the same connection.
		if sent > 0 && drained {
			s.at, s.from = len(s.files)-1, ends[sent-1]
			s.closeIn()
		}
	}
	return commit, dropped, nil
}

// drained reports whether everything was read. The mutex is held.
func (s *spool) drained() bool {
	from := s.from
	for _, f := range s.files[s.at:] {
		if max(from, spoolHead) < f.size {
			return false
		}
		from = 0
	}
	return true
}

// acquire creates the folder and locks it. In between, another process may take it for the folder of a dead process for a moment, and
// remove it, since it is empty.
func (s *spool) acquire() (err error) {
	s.locking.Lock()
	defer s.locking.Unlock()
	for tries := 0; s.lock == nil; tries++ {
		if err = os.MkdirAll(s.dir, 0o700); err == nil {
			s.lock, err = datafolder.Lock(s.dir)
		}
		if err == nil && s.drops.unsaved() { // a report that was sent without a folder has a number, which must not be used again
			if err = s.drops.save(); err != nil {
				_ = s.lock.Close()
				s.lock = nil
			}
		}
		if err != nil && (tries == mostTries || !errors.Is(err, datafolder.ErrLocked) && !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("make the spool: %w", err)
		}
		if err != nil {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

const mostTries = 100

// current returns the file to which the next frames are written, the first of which has the number first.
func (s *spool) current(first uint64) (*spoolFile, error) {
	if s.out != nil {
		s.mu.Lock()
		f := s.files[len(s.files)-1]
		s.mu.Unlock()
		if f.size < s.each {
			return f, nil
		}
		if err := s.finish(f); err != nil {
			return nil, err
		}
	}
	f := &spoolFile{path: filepath.Join(s.dir, fmt.Sprintf("%020d.spool", first)), first: first, last: first - 1, size: spoolHead, writing: true, written: time.Now()}
	out, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file in the spool: %w", err)
	}
	if _, err := out.Write(append([]byte(spoolMagic), s.id[:]...)); err != nil {
		return nil, errors.Join(fmt.Errorf("write the spool: %w", err), out.Close(), os.Remove(f.path))
	}
	s.out = out
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, f)
	s.size += f.size
	return f, nil
}

// finish syncs and closes the file that is written.
func (s *spool) finish(f *spoolFile) error {
	err := cmp.Or(s.out.Sync(), s.out.Close())
	s.out = nil
	s.mu.Lock()
	f.writing = false
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("write the spool: %w", err)
	}
	return nil
}

// abandon closes a file after a failed write, and cuts off what the write has left.
func (s *spool) abandon(f *spoolFile) error {
	err := errors.Join(s.out.Truncate(f.size), s.out.Close())
	s.out = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	f.writing = false
	if f.size == spoolHead {
		s.remove(len(s.files)-1, len(s.files))
	}
	return err
}

// sync syncs what was written.
func (s *spool) sync() error {
	if s.out == nil || !s.dirt {
		return nil
	}
	s.dirt = false
	if err := s.out.Sync(); err != nil {
		return fmt.Errorf("sync the spool: %w", err)
	}
	return nil
}

// makeRoom drops the oldest files, but never keep, until that many more bytes fit, and returns how many records were dropped with them.
func (s *spool) makeRoom(more int64, acked uint64, keep *spoolFile) (dropped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for size := s.size + more; size > s.limit && n < len(s.files) && s.files[n] != keep; n++ {
		size -= s.files[n].size
	}
	return s.drop(n, acked)
}

// dropOld drops the files that were last written longer ago than age, except the one that is being written, and returns how many records
// were dropped with them.
func (s *spool) dropOld(age time.Duration, acked uint64) (dropped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.files) && !s.files[n].writing && time.Since(s.files[n].written) > age {
		n++
	}
	return s.drop(n, acked)
}

// drop drops the oldest files. It counts their records first, so that a kill in between does not leave them out. The mutex is held.
func (s *spool) drop(n int, acked uint64) (dropped int64) {
	if n == 0 {
		return 0
	}
	for _, f := range s.files[:n] {
		dropped += f.left(acked)
	}
	s.drops.addFiles(dropped, s.files[n-1].last)
	s.remove(0, n)
	return dropped
}

// saveDrops saves and syncs how many records were dropped. If there is no folder, it creates one for that.
func (s *spool) saveDrops() error {
	if err := s.acquire(); err != nil {
		return err
	}
	return cmp.Or(s.drops.save(), s.drops.sync())
}

// left returns how many records a file has that are not acknowledged, as far as their numbers tell.
func (f *spoolFile) left(acked uint64) int64 {
	return max(0, int64(f.last)-int64(max(acked, f.first-1)))
}

// trim removes files that are acknowledged.
func (s *spool) trim(acked uint64) {
	s.mu.Lock()
	n := 0
	for n < len(s.files) && s.files[n].last <= acked {
		n++
	}
	var f *spoolFile
	if n > 0 && s.files[n-1].writing {
		f = s.files[n-1]
		f.writing = false
	}
	s.remove(0, n)
	s.mu.Unlock()
	if f != nil {
		_ = s.out.Close()
		s.out, s.dirt = nil, false
	}
}

// remove forgets and deletes files. The mutex is held.
func (s *spool) remove(from, to int) {
	for _, f := range s.files[from:to] {
		s.size -= f.size
		_ = os.Remove(f.path)
	}
	s.files = append(s.files[:from], s.files[to:]...)
	switch {
	case s.at >= to:
		s.at -= to - from
	case s.at >= from:
		s.at, s.from = from, 0
		s.closeIn()
	}
}

// close releases the spool, and removes it if nothing is left.
func (s *spool) close(acked uint64) error {
	err := s.sync()
	s.trim(acked)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeIn()
	if s.out != nil {
		err = cmp.Or(err, s.out.Close())
		s.out = nil
	}
	if s.lock == nil {
		return err
	}
	if s.drops.unsaved() {
		err = cmp.Or(err, s.drops.save())
	}
	err = cmp.Or(err, s.drops.sync(), s.drops.close())
	if len(s.files) == 0 && !s.drops.owes() {
		removeFolder(s.dir)
	} else {
		err = cmp.Or(err, datafolder.Sync(s.dir))
	}
	err = cmp.Or(err, s.lock.Close())
	s.lock = nil
	return err
}

func (s *spool) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

func (s *spool) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files) == 0
}

// records returns how many records are not acknowledged, as far as their numbers tell.
func (s *spool) records(acked uint64) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		n += f.left(acked)
	}
	return n
}

// first returns the lowest number that is not acknowledged, or the highest possible number if all are.
func (s *spool) first(acked uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.last > acked {
			return max(f.first, acked+1)
		}
	}
	return 1<<64 - 1
}
