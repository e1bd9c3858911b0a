package logs

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
)

const (
	mostJournal  = 8 << 20             // bytes of a file, after which the next one is begun, unless it began with half of them
	forgetClient = 30 * 24 * time.Hour // not heard of
	mostClients  = 1 << 20
)

// A heard is the number up to which records of a client came to an output.
type heard struct {
	client Client
	last   uint64
}

// A lineJournal says up to which number line files have the records of clients. What is to be written to a file with such
// records is written to the journal first, with the numbers and the place in the file; when the process was killed in
// between, the next one finds what is missing in the file, and writes it. So the file has all of an entry, and its numbers
// count, as soon as the journal has it.
//
// It lies in a folder that is made at the first entry, in files that are numbered. A file begins with all that was known, so
// that each one before can go when nothing that it tells of is still on its way to a disk.
type lineJournal struct {
	dir    string
	policy Sync
	right  func() bool // reports whether the clock is
	logger *slog.Logger

	// Held for reading while an entry is written, synced and taken note of; for writing by who begins the next file. It
	// comes before the others, and mu last.
	turning sync.RWMutex

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
	room   []byte
}

// A journaledFile is what is known of a line file.
type journaledFile struct {
	clients map[Client]journaledClient

	// The numbers of the journals with its first and its newest entry that are not settled; 0 for none.
	since, until uint64
}

type journaledClient struct {
	last uint64
	at   int64 // when it was heard of, in seconds since 1970; 0: by a clock that was not right
}

func newLineJournal(dir string, policy Sync, right func() bool, logger *slog.Logger) *lineJournal {
	return &lineJournal{dir: dir, policy: policy, right: right, logger: logger, files: map[string]*journaledFile{}}
}

// open reads the journal and mends the files it tells of. Nothing may be written to a line file before. It does nothing
// when that was done, or there is no journal, unless one is to be made.
func (j *lineJournal) open(make bool) error {
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
		err = j.turn()
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	j.lock = lock
	return nil
}

// openIfThere reads the journal, if there is one, and mends the files it tells of.
func (j *lineJournal) openIfThere() error { return j.open(false) }

// close settles what can be, for the next process.
func (j *lineJournal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock == nil {
		return nil
	}
	err := errors.Join(j.turn(), j.file.Close(), j.lock.Close())
	j.lock, j.file = nil, nil
	return err
}

// last returns the number up to which a file has the records of a client.
func (j *lineJournal) last(path string, c Client) (uint64, error) {
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
func (j *lineJournal) add(e *journalEntry) error {
	for {
		j.turning.RLock()
		if j.ready() {
			break
		}
		j.turning.RUnlock()
		if err := j.begin(); err != nil {
			return err
		}
	}
	defer j.turning.RUnlock()
	j.mu.Lock()
	end, err := j.write(e)
	j.mu.Unlock()
	if err == nil && j.policy == SyncAlways {
		err = j.syncTo(end)
	}
	if err == nil {
		j.mu.Lock()
		j.know(e)
		j.mu.Unlock()
	}
	return err
}

func (j *lineJournal) ready() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file != nil && !j.broken && j.size < j.full
}

// begin begins a file, unless somebody else has.
func (j *lineJournal) begin() error {
	if err := j.open(true); err != nil {
		return err
	}
	j.turning.Lock()
	defer j.turning.Unlock()
	if j.ready() {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.turn()
}

// write appends a frame, and returns where it ends. The caller holds mu.
func (j *lineJournal) write(e *journalEntry) (end int64, err error) {
	j.room = e.append(j.room[:0])
	if _, err := j.file.WriteAt(j.room, j.size); err != nil {
		j.broken = j.file.Truncate(j.size) != nil
		return 0, err
	}
	if cap(j.room) > 2*mostLines {
		j.room = nil
	}
	j.size += int64(len(j.room))
	if e.kind == kindLines {
		f := j.known(e.path)
		if f.until = j.number; f.since == 0 {
			f.since = j.number
		}
	}
	return j.size, nil
}

// syncTo brings the newest file to disk, up to a place in it. Those who come during one sync share the next.
func (j *lineJournal) syncTo(end int64) error {
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
func (j *lineJournal) sync() error {
	j.mu.Lock()
	broken := j.broken
	j.mu.Unlock()
	if broken { // the next one begins with the numbers of these entries
		if err := j.begin(); err != nil {
			return err
		}
	}
	j.turning.RLock()
	defer j.turning.RUnlock()
	j.mu.Lock()
	file, size := j.file, j.size
	j.mu.Unlock()
	if file == nil {
		return nil
	}
	return j.syncTo(size)
}

// settle is called when a file has its lines as safely as it is to have them.
func (j *lineJournal) settle(path string) {
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

// turn begins a file with all that is known. The caller holds mu.
func (j *lineJournal) turn() (err error) {
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
func (j *lineJournal) removeOld() {
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

func (j *lineJournal) path(number uint64) string {
	return filepath.Join(j.dir, fmt.Sprintf("%012d%s", number, journalExtension))
}

// numbers returns those of the files that are there.
func (j *lineJournal) numbers() (numbers []uint64, err error) {
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
func (j *lineJournal) known(path string) *journaledFile {
	f := j.files[path]
	if f == nil {
		f = &journaledFile{clients: map[Client]journaledClient{}}
		j.files[path] = f
	}
	return f
}

// know takes note of the numbers of an entry. The caller holds mu.
func (j *lineJournal) know(e *journalEntry) {
	f, now := j.known(e.path), j.now()
	for _, h := range e.heard {
		f.clients[h.client] = journaledClient{max(h.last, f.clients[h.client].last), now}
	}
	for id, c := range e.known {
		before := f.clients[id]
		f.clients[id] = journaledClient{max(c.last, before.last), max(c.at, before.at)}
	}
}

// now is when a client is heard of now: zero by a clock that is not right.
func (j *lineJournal) now() int64 {
	if !j.right() {
		return 0
	}
	return time.Now().Unix()
}

// forget forgets the clients not heard of for long, and the longest silent ones of too many. The caller holds mu.
func (j *lineJournal) forget() {
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
		maps.DeleteFunc(f.clients, func(_ Client, c journaledClient) bool { return c.at > 0 && c.at < old })
	}
	maps.DeleteFunc(j.files, func(_ string, f *journaledFile) bool { return len(f.clients) == 0 && f.since == 0 && len(j.old) == 0 })
}
