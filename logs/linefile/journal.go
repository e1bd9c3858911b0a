package linefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	mostJournal  = 8 << 20             // bytes of a file after which the next one is started, or twice its initial size, if that is more
	forgetClient = 30 * 24 * time.Hour // since a client was last seen
	mostClients  = 1 << 20
)

// A Received is the number up to which an output has received the records of a client.
type Received struct {
	Client logs.Client
	Last   uint64
}

// A Journal records up to which number line files have the records of clients. Lines with such records are written to the journal first,
// with their numbers and their place in the file. If the process is killed in between, the next one finds the lines that are missing in
// the file, and writes them. So the file has all lines of an entry, and its numbers count, as soon as the journal has it.
//
// It is in a folder that is made with the first entry, in the format of package journal. A file begins with everything that was known, so
// that an older file can be deleted when nothing in it is still on its way to a disk.
type Journal struct {
	folder  journal.Folder
	disk    datafolder.Disk
	trusted func() bool // reports whether the clock can be trusted
	logger  *slog.Logger

	// Held for reading while an entry is written, synced and noted; for writing while the next file is started. It comes before mu.
	changing sync.RWMutex

	mu     sync.Mutex
	lock   *datafolder.FolderLock // nil until it is open
	file   *journal.File          // the newest; nil before the first
	old    []*journal.File        // and those before
	number uint64                 // the highest of a file
	full   int64                  // the size from which on the next one is started
	files  map[string]*journaledFile
	table  []byte
}

// A journaledFile is what is known of a line file.
type journaledFile struct {
	clients map[logs.Client]journaledClient

	// The numbers of the journals with its first and its newest entry that are not settled; 0 for none.
	since, until uint64
}

type journaledClient struct {
	last uint64
	at   int64 // when it was last seen, in seconds since 1970; 0: by a clock that was not trusted
}

// NewJournal returns a journal in a folder, which is made with the first entry. trusted reports whether the clock can be trusted, by
// which clients are forgotten.
func NewJournal(dir string, policy Sync, trusted func() bool, logger *slog.Logger) *Journal {
	j := &Journal{trusted: trusted, logger: logger, files: map[string]*journaledFile{}}
	j.folder = journal.Folder{Dir: dir, Magic: journalMagic, Disk: &j.disk, Durable: policy == SyncAlways, Lazy: policy == SyncOS, Logger: logger}
	return j
}

// open reads the journal and repairs the files that it names. Nothing may be written to a line file before that. It does nothing if the
// journal is open already, or if there is none and make is not set.
func (j *Journal) open(make bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock != nil {
		return nil
	}
	dir := j.folder.Dir
	if !make && !exists(dir) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := datafolder.Lock(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	upgraded, err := j.read()
	if err == nil {
		err = j.nextFile()
	}
	for _, path := range upgraded {
		if err == nil {
			err = os.Remove(path)
		}
	}
	if err != nil {
		j.release()
		return errors.Join(err, lock.Close())
	}
	j.lock = lock
	return nil
}

// Open reads the journal, if there is one, and repairs the files that it names. It fails with [datafolder.ErrLocked] when another process has
// the journal.
func (j *Journal) Open() error { return j.open(false) }

// Close starts a file with everything that is known, for the next process, and closes the journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock == nil {
		return nil
	}
	err := j.nextFile()
	j.release()
	err = errors.Join(err, j.lock.Close())
	j.lock = nil
	return err
}

// release closes the files. The caller holds mu.
func (j *Journal) release() {
	for _, f := range j.old {
		f.Release()
	}
	if j.file != nil {
		j.file.Release()
	}
	j.file, j.old = nil, nil
}

// last returns the number up to which a file has the records of a client.
func (j *Journal) last(path string, c logs.Client) (uint64, error) {
	if err := j.open(true); err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if f := j.files[path]; f != nil {
		return f.clients[c].last, nil
	}
	return 0, nil
}

// add adds an entry. When it returns, the lines may be written to the file.
func (j *Journal) add(e *journalEntry) error {
	for {
		j.changing.RLock()
		if j.ready() {
			break
		}
		j.changing.RUnlock()
		if err := j.beginFile(); err != nil {
			return err
		}
	}
	defer j.changing.RUnlock()
	j.mu.Lock()
	c, err := j.write(e)
	j.mu.Unlock()
	if err == nil {
		err = c.Wait(context.Background())
	}
	if err == nil {
		j.mu.Lock()
		j.note(e)
		j.mu.Unlock()
	}
	return err
}

func (j *Journal) ready() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file != nil && !j.broken() && j.file.Size() < j.full
}

// broken reports whether the newest file can no longer be written. The caller holds mu.
func (j *Journal) broken() bool { return errors.Is(j.file.Repair(), journal.ErrBroken) }

// beginFile starts a file, unless another goroutine has.
func (j *Journal) beginFile() error {
	if err := j.open(true); err != nil {
		return err
	}
	j.changing.Lock()
	defer j.changing.Unlock()
	if j.ready() {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.nextFile()
}

// write appends an entry. The caller holds mu.
func (j *Journal) write(e *journalEntry) (*journal.Commit, error) {
	if err := j.file.Repair(); err != nil {
		return nil, err
	}
	j.table = e.appendTable(j.table[:0])
	c, _, err := j.file.Append(j.table, e.lines)
	if err == nil && e.kind == kindLines {
		f := j.known(e.path)
		if f.until = j.file.Number; f.since == 0 {
			f.since = j.file.Number
		}
	}
	return c, err
}

// sync syncs all entries, since their lines may be synced next.
func (j *Journal) sync() error {
	j.mu.Lock()
	broken := j.file != nil && j.broken()
	j.mu.Unlock()
	if broken { // the next one begins with the numbers of these entries
		if err := j.beginFile(); err != nil {
			return err
		}
	}
	j.changing.RLock()
	defer j.changing.RUnlock()
	j.mu.Lock()
	file := j.file
	j.mu.Unlock()
	if file == nil {
		return nil
	}
	return file.Sync(context.Background())
}

// noteWritten is called when a file has its lines as safely as the policy demands.
func (j *Journal) noteWritten(path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.files[path]
	if f == nil || f.since == 0 {
		return
	}
	// It need not be on disk: without it, the next process only checks the file in vain.
	if _, err := j.write(&journalEntry{kind: kindSettled, path: path}); err == nil {
		f.since, f.until = 0, 0
		j.removeOld()
	}
}

// nextFile starts a file with everything that is known. The caller holds mu.
func (j *Journal) nextFile() error {
	j.forget()
	var frames []journal.Frame
	for path, f := range j.files {
		if f.since == 0 { // the file that says so may be deleted before the file with its entries
			frames = append(frames, (&journalEntry{kind: kindSettled, path: path}).frame())
		}
		frames = append(frames, (&journalEntry{kind: kindKnown, path: path, known: f.clients}).frame())
	}
	file, err := j.folder.Create(j.number+1, time.Now(), frames...)
	if err != nil {
		return err
	}
	if j.file != nil {
		j.old = append(j.old, j.file)
	}
	j.file, j.number, j.full = file, j.number+1, max(mostJournal, 2*file.Size())
	j.removeOld()
	return nil
}

// removeOld removes the files of which nothing is needed. The caller holds mu.
func (j *Journal) removeOld() {
	if len(j.old) == 0 {
		return
	}
	needed := map[uint64]bool{}
	for _, f := range j.files {
		for n := f.since; n > 0 && n <= f.until; n++ {
			needed[n] = true
		}
	}
	j.old = slices.DeleteFunc(j.old, func(f *journal.File) bool {
		if needed[f.Number] || f.Remove() != nil {
			return false
		}
		f.Release()
		return true
	})
}

// known returns what is known of a file. The caller holds mu.
func (j *Journal) known(path string) *journaledFile {
	f := j.files[path]
	if f == nil {
		f = &journaledFile{clients: map[logs.Client]journaledClient{}}
		j.files[path] = f
	}
	return f
}

// note records the numbers of an entry. The caller holds mu.
func (j *Journal) note(e *journalEntry) {
	f, now := j.known(e.path), j.now()
	for _, h := range e.received {
		f.clients[h.Client] = journaledClient{max(h.Last, f.clients[h.Client].last), now}
	}
	for id, c := range e.known {
		before := f.clients[id]
		f.clients[id] = journaledClient{max(c.last, before.last), max(c.at, before.at)}
	}
}

// now returns the time at which a client is seen now: zero if the clock is not trusted.
func (j *Journal) now() int64 {
	if !j.trusted() {
		return 0
	}
	return time.Now().Unix()
}

// forget forgets the clients that were not seen for forgetClient, and of too many clients those that were not seen for longest. The
// caller holds mu.
func (j *Journal) forget() {
	now := j.now()
	old := max(now-int64(forgetClient/time.Second), 0)
	var all []int64
	for _, f := range j.files {
		for id, c := range f.clients {
			c.at = cmp.Or(c.at, now)
			f.clients[id] = c
			all = append(all, cmp.Or(c.at, math.MaxInt64))
		}
	}
	if len(all) > mostClients {
		slices.Sort(all)
		old = max(old, all[len(all)-mostClients])
	}
	for _, f := range j.files {
		maps.DeleteFunc(f.clients, func(_ logs.Client, c journaledClient) bool { return c.at > 0 && c.at < old })
	}
	maps.DeleteFunc(j.files, func(_ string, f *journaledFile) bool { return len(f.clients) == 0 && f.since == 0 && len(j.old) == 0 })
}
