package logs

import (
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// The callers of a sender add records to shards, so that callers on several processors do not contend for one lock. Each record gets a
// ticket under the lock of its shard. The sender collects with the locks of all shards held, so that it gets all records that were added
// before. Sorted by their tickets, the records of each goroutine are in order, whichever shards it has used. Only then they get their numbers.
//
// Lock order: the mutex of the sender before those of the shards.
const (
	shardCount  = 8
	shardSize   = 64 << 10  // bytes of a shard from which on a caller collects, unless the sender's mutex is locked
	shardLimit  = 256 << 10 // bytes of a shard from which on a caller waits for the sender's mutex, and collects
	shardCredit = 16 << 10  // bytes that a shard reserves at a time
)

// A shardSet is the state that callers and the sender share. Fields that many processors write have cache lines of their own.
type shardSet struct {
	_       [64]byte
	tickets atomic.Uint64 // the last ticket
	_       [64]byte
	used    atomic.Int64 // bytes of records in shards, open and sealed, and the credit of shards
	_       [64]byte
	idle    atomic.Bool   // the sender waits for a record
	next    atomic.Uint32 // counts the shards that were given to processors without one
	shards  [shardCount]shard
	usual   sync.Pool // of *shard: a processor mostly gets the shard that it had before
}

// A shard has records that are not collected yet.
type shard struct {
	mu     sync.Mutex
	closed bool
	shardRecords
	credit  int   // bytes that are reserved, and count as used, for later records
	count   int   // calls of addToShard
	dropped int64 // dropped records that countDrops has not counted yet
	_       [64]byte
}

// shardRecords are encoded records, one after the other.
type shardRecords struct {
	data  []byte
	index []shardRecord
}

type shardRecord struct {
	ticket uint64
	at     int64
	size   int
}

func (h *shardSet) prepare() {
	h.usual.New = func() any { return &h.shards[h.next.Add(1)%shardCount] }
}

// admit reports whether there is space for n more bytes, and reserves it.
func (s *Sender) admit(n int) bool {
	if used := s.used.Load(); used > 0 && used+int64(n) > int64(s.o.MemoryBytes) {
		return false // without a write to used, for which other processors would have to wait
	}
	if used := s.used.Add(int64(n)); used > int64(s.o.MemoryBytes) && used > int64(n) {
		s.used.Add(-int64(n))
		return false
	}
	return true
}

// admitTo is admit for a record of a shard. While memory is less than half full, it reserves space for several records at a time.
func (s *Sender) admitTo(sh *shard, n int) bool {
	if n <= sh.credit {
		sh.credit -= n
		return true
	}
	if more := min(shardCredit, s.o.MemoryBytes/shardCount/8); n < more && s.used.Load() < int64(s.o.MemoryBytes/2) {
		s.used.Add(int64(more))
		sh.credit += more - n
		return true
	}
	return s.admit(n)
}

// addToShard adds a record of the sender's service to a shard. With drop, it counts a record that it does not accept as dropped. crowded
// reports whether the caller should yield the processor.
func (s *Sender) addToShard(record []byte, at int64, drop bool) (crowded bool, err error) {
	sh := s.usual.Get().(*shard)
	sh.mu.Lock()
	switch {
	case sh.closed:
		err = ErrClosed
	case !s.admitTo(sh, len(record)):
		err = ErrFull
	default:
		sh.index = append(sh.index, shardRecord{s.tickets.Add(1), at, len(record)})
		sh.data = append(sh.data, record...)
	}
	if drop && err != nil {
		sh.dropped++
	}
	size, dropped := len(sh.data), sh.dropped
	sh.count++
	crowded = sh.count%crowdedEvery == 0 && s.used.Load() > int64(s.o.MemoryBytes/2)
	sh.mu.Unlock()
	s.usual.Put(sh)
	if err != nil {
		if drop && dropped == 1 { // the tasks that wait for these signals call countDrops, which starts again from zero
			cond.Signal(s.owed)
			cond.Signal(s.spill)
		}
		return crowded, err
	}
	if s.idle.Load() && s.idle.CompareAndSwap(true, false) {
		cond.Signal(s.ready)
	}
	switch {
	case size >= shardLimit:
		s.mu.Lock()
	case size < shardSize || !s.mu.TryLock():
		return crowded, nil
	}
	s.collect()
	s.mu.Unlock()
	return crowded, nil
}

// countDrops counts the records that addToShard has dropped. The mutex is held.
func (s *Sender) countDrops() {
	var n int64
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += sh.dropped
		sh.dropped = 0
		sh.mu.Unlock()
	}
	if n > 0 {
		s.stats.Dropped += n
		s.drops.add(n)
	}
}

// collect appends the records of all shards to the open batch, in the order of their tickets. The mutex is held.
func (s *Sender) collect() {
	if s.tickets.Load() != s.collected {
		s.collectAll(false)
	}
}

// collectAll is collect, also if there are no new records. With end, it closes the shards: they accept no more records.
func (s *Sender) collectAll(end bool) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
	}
	s.collected = s.tickets.Load()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.closed = sh.closed || end
		s.used.Add(-int64(sh.credit))
		sh.credit = 0
		sh.shardRecords, s.spare[i] = s.spare[i], sh.shardRecords
	}
	for i := range s.shards {
		s.shards[i].mu.Unlock()
	}
	var done [shardCount]struct{ records, bytes int }
	for {
		first, until := -1, uint64(0) // the shard with the lowest ticket, and the lowest ticket of the others
		for i := range s.spare {
			h := &s.spare[i]
			if done[i].records == len(h.index) {
				continue
			}
			ticket := h.index[done[i].records].ticket
			switch {
			case first < 0:
				first, until = i, ^uint64(0)
			case ticket < s.spare[first].index[done[first].records].ticket:
				first, until = i, s.spare[first].index[done[first].records].ticket
			default:
				until = min(until, ticket)
			}
		}
		if first < 0 {
			break
		}
		h, d := &s.spare[first], &done[first]
		for d.records < len(h.index) && h.index[d.records].ticket < until {
			r := &h.index[d.records]
			s.appendRecord(s.o.Service, h.data[d.bytes:d.bytes+r.size], r.at)
			d.records++
			d.bytes += r.size
		}
	}
	for i := range s.spare {
		h := &s.spare[i]
		if cap(h.data) > 2*shardSize {
			*h = shardRecords{}
		}
		h.data, h.index = h.data[:0], h.index[:0]
	}
}
