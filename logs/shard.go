package logs

import (
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// A sender's callers add records to shards, so that callers on several processors do not wait for one lock. Each record has a ticket,
// which is taken under the lock of its shard. The sender collects with the locks of all shards held: it gets all records that were added
// up to then. Sorted by their tickets, they are in the order of every goroutine, whichever shards its records went through. Only then
// they get their numbers.
//
// The mutex of the sender comes before those of shards.
const (
	shardCount  = 8
	shardSize   = 64 << 10 // bytes in a shard with which the caller collects, unless the sender's mutex is locked
	shardLimit  = 256 << 10
	shardCredit = 16 << 10
)

// A shardSet is shared by callers and sender. Fields that many processors write have a cache line of their own.
type shardSet struct {
	_       [64]byte
	tickets atomic.Uint64 // how many were taken
	_       [64]byte
	used    atomic.Int64 // bytes of records in shards, open and sealed, and the credit of shards
	_       [64]byte
	idle    atomic.Bool   // the sender waits for a record
	next    atomic.Uint32 // of the shards, for a processor without one
	shards  [shardCount]shard
	usual   sync.Pool // of *shard: a processor mostly gets the one it had before
}

// A shard has records that were not collected yet.
type shard struct {
	mu     sync.Mutex
	closed bool
	shardRecords
	credit  int   // bytes that count as used, for records to come
	count   int   // of records, ever
	dropped int64 // records that countDrops has not seen
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

// admit reports whether there is buffer space for n more bytes, and reserves it.
func (s *Sender) admit(n int) bool {
	if used := s.used.Load(); used > 0 && used+int64(n) > int64(s.o.MemoryBytes) {
		return false // without a write, which others would have to wait for
	}
	if used := s.used.Add(int64(n)); used > int64(s.o.MemoryBytes) && used > int64(n) {
		s.used.Add(-int64(n))
		return false
	}
	return true
}

// admitTo is admit for a record of a shard. While much space is free, it reserves space for several records at once.
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

// addToShard adds a record of the sender's service to a shard. With drop, a record that is not accepted counts as dropped. It reports
// whether the caller should yield the processor.
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
		if drop && dropped == 1 { // the first one that countDrops has not seen: wake the tasks that call it
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

// countDrops counts the records that were dropped because of a full or closed shard. The mutex is held.
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

// collect appends the records of the shards to the others, in the order of their tickets. The mutex is held.
func (s *Sender) collect() {
	if s.tickets.Load() != s.collected {
		s.collectAll(false)
	}
}

// collectAll is collect. With end, no record can be added to the shards any more.
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
		first, until := -1, uint64(0) // the shard with the lowest ticket, and the lowest of the others
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
