package linefile

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	mostJournal  = 8 << 20             // bytes of a file, after which the next one is begun, unless it began with half of them
	forgetClient = 30 * 24 * time.Hour // not heard of
	mostClients  = 1 << 20
)

// A Received is the number up to which records of a client came to an output.
type Received struct {
	Client logs.Client
	Last   uint64
}

// A Journal says up to which number line files have the records of clients. What is to be written to a file with such
// records is written to the journal first, with the numbers and the place in the file; when the process was killed in
// between, the next one finds what is missing in the file, and writes it. So the file has all of an entry, and its numbers
// count, as soon as the journal has it.
//
// It lies in a folder that is made at the first entry, in files that are numbered. A file begins with all that was known, so
// that each one before can go when nothing in it is still on its way to a disk.
type Journal struct {
	dir     string
	policy  Sync
	trusted func() bool // reports whether the clock is
	logger  *slog.Logger

	// Held for reading while an entry is written, synced and taken note of; for writing by who begins the next file. It
	// comes before the others, and mu last.
	changing sync.RWMutex

	syncing sync.Mutex
	synced  int64 // of the newest file

	mu     sync.Mutex
	lock   *os.File // nil until it is open
	file   *os.File // the newest; nil before the first
	number uint64   // of it
	old    []uint64 // and of the others
	size   int64
	full   int64 // the size from which on the next one is begun
	broken bool  // nothing may follow what is in the file
	files  map[string]*journaledFile
	buffer []byte
}

// A journaledFile is what is known of a line file.
type journaledFile struct {
	clients map[logs.Client]journaledClient

	// The numbers of the journals with its first and its newest entry that are not settled; 0 for none.
	since, until uint64
}

type journaledClient struct {
	last uint64
	at   int64 // when it was heard of, in seconds since 1970; 0: by a clock that was not right
}

// NewJournal returns a journal in a folder, which is made at the first entry. Trusted reports whether the clock may be trusted, by which
// clients are forgotten.
func NewJournal(dir string, policy Sync, right func() bool, logger *slog.Logger) *Journal {
	return &Journal{dir: dir, policy: policy, trusted: right, logger: logger, files: map[string]*journaledFile{}}
}

// open reads the journal and repairs the files that it names. Nothing may be written to a line file before. It does nothing
// when that was done, or there is no journal, unless one is to be made.
func (j *Journal) open(make bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock != nil {
		return nil
	}
	if !make && !exists(j.dir) {
		return nil
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	lock, err := datafolder.Lock(j.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", j.dir, err)
	}
	if err = j.read(); err == nil {
		err = j.nextFile()
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	j.lock = lock
	return nil
}

// Open reads the journal, if there is one, and repairs the files that it names. It fails with [datafolder.ErrLocked] when another process has
// the journal.
func (j *Journal) Open() error { return j.open(false) }

// Close settles what can be, for the next process.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock == nil {
		return nil
	}
	err := errors.Join(j.nextFile(), j.file.Close(), j.lock.Close())
	j.lock, j.file = nil, nil
	return err
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
		if err := j.begin(); err != nil {
			return err
		}
	}
	defer j.changing.RUnlock()
	j.mu.Lock()
	end, err := j.write(e)
	j.mu.Unlock()
	if err == nil && j.policy == SyncAlways {
		err = j.syncTo(end)
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
	return j.file != nil && !j.broken && j.size < j.full
}

// begin begins a file, unless somebody else has.
func (j *Journal) begin() error {
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

// write appends a frame, and returns where it ends. The caller holds mu.
func (j *Journal) write(e *journalEntry) (end int64, err error) {
	j.buffer = e.append(j.buffer[:0])
	if _, err := j.file.WriteAt(j.buffer, j.size); err != nil {
		j.broken = j.file.Truncate(j.size) != nil
		return 0, err
	}
	if cap(j.buffer) > 2*mostLines {
		j.buffer = nil
	}
	j.size += int64(len(j.buffer))
	if e.kind == kindLines {
		f := j.known(e.path)
		if f.until = j.number; f.since == 0 {
			f.since = j.number
		}
	}
	return j.size, nil
}

// syncTo brings the newest file to disk, up to a place in it. Those who come during one sync share the next.
func (j *Journal) syncTo(end int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= end {
		return nil
	}
	j.mu.Lock()
	file, size, broken := j.file, j.size, j.broken
	j.mu.Unlock()
	if broken {
		return errBroken
	}
	err := file.Sync()
	if err == nil {
		j.synced = size
		return nil
	}
	j.mu.Lock()
	j.broken = true // nobody knows what is on the disk now, and the system tells of it once
	j.mu.Unlock()
	return err
}

var errBroken = errors.New("the journal of line files could not be written to the disk; the next one is begun")

// sync brings all entries to disk, as the lines may be there next.
func (j *Journal) sync() error {
	j.mu.Lock()
	broken := j.broken
	j.mu.Unlock()
	if broken { // the next one begins with the numbers of these entries
		if err := j.begin(); err != nil {
			return err
		}
	}
	j.changing.RLock()
	defer j.changing.RUnlock()
	j.mu.Lock()
	file, size := j.file, j.size
	j.mu.Unlock()
	if file == nil {
		return nil
	}
	return j.syncTo(size)
}

// settle is called when a file has its lines as safely as it is to have them.
func (j *Journal) settle(path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.files[path]
	if f == nil || f.since == 0 {
		return
	}
	// It need not be on disk: without it, the next process looks at the file in vain.
	if _, err := j.write(&journalEntry{kind: kindSettled, path: path}); err == nil {
		f.since, f.until = 0, 0
		j.removeOld()
	}
}

// nextFile begins a file with all that is known. The caller holds mu.
func (j *Journal) nextFile() (err error) {
	j.forget()
	path := j.path(j.number + 1)
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	b := []byte(journalBegin)
	for path, f := range j.files {
		if f.since == 0 { // the journal that says so may go before that with its entries
			b = (&journalEntry{kind: kindSettled, path: path}).append(b)
		}
		b = (&journalEntry{kind: kindKnown, path: path, known: f.clients}).append(b)
	}
	if _, err = file.Write(b); err == nil && j.policy != SyncOS {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err == nil && j.policy != SyncOS {
		err = datafolder.Sync(j.dir)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(part))
	}
	if j.file != nil {
		_ = j.file.Close()
		j.old = append(j.old, j.number)
	}
	j.file, j.size, j.broken = file, int64(len(b)), false
	j.synced, j.full = j.size, max(mostJournal, 2*j.size)
	j.number++
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
	j.old = slices.DeleteFunc(j.old, func(n uint64) bool { return !needed[n] && os.Remove(j.path(n)) == nil })
}

func (j *Journal) path(number uint64) string {
	return filepath.Join(j.dir, fmt.Sprintf("%012d%s", number, journalExtension))
}

// numbers returns those of the files that are there.
func (j *Journal) numbers() (numbers []uint64, err error) {
	names, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, ok := strings.CutSuffix(name.Name(), journalExtension)
		var n uint64
		if _, err := fmt.Sscanf(text, "%d", &n); ok && err == nil && filepath.Base(j.path(n)) == name.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
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

// note takes note of the numbers of an entry. The caller holds mu.
func (j *Journal) note(e *journalEntry) {
	f, now := j.known(e.path), j.now()
	for _, h := range e.heard {
		f.clients[h.Client] = journaledClient{max(h.Last, f.clients[h.Client].last), now}
	}
	for id, c := range e.known {
		before := f.clients[id]
		f.clients[id] = journaledClient{max(c.last, before.last), max(c.at, before.at)}
	}
}

// now is when a client is heard of now: zero by a clock that is not right.
func (j *Journal) now() int64 {
	if !j.trusted() {
		return 0
	}
	return time.Now().Unix()
}

// forget forgets the clients not heard of for long, and the longest silent ones of too many. The caller holds mu.
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
