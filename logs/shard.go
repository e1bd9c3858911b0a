package logs

import (
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// A sender's callers hand records over in shards, so that those on several processors do not wait for one lock. Each record has a
// ticket, which is taken under the lock of its shard. The sender collects with the locks of all shards: what it gets is all that was
// handed over up to then, and put in the order of the tickets it is in the order of every goroutine, whichever shards that came by.
// Only then it gets its numbers.
//
// The mutex of the sender comes before those of shards.
const (
	shardCount  = 8
	shardSize   = 64 << 10 // bytes, with which whoever adds to a shard collects, unless somebody else has the sender's mutex
	shardLimit  = 256 << 10
	shardCredit = 16 << 10
)

// A shardSet is what callers and sender share. What many processors write has a cache line of its own.
type shardSet struct {
	_       [64]byte
	tickets atomic.Uint64 // given
	_       [64]byte
	used    atomic.Int64 // bytes of records in shards, open and sealed, and the credit of shards
	_       [64]byte
	idle    atomic.Bool   // the sender waits for a record
	next    atomic.Uint32 // of the shards, for a processor without one
	shards  [shardCount]shard
	usual   sync.Pool // of *shard: a processor mostly gets the one it had before
}

// A shard has records that are not collected.
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

// admit reports whether there is room for n more bytes, and reserves it.
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

// admitTo is admit for a record of a shard, which reserves room for some at once, while there is much.
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

// addToShard hands a record of the sender's service over. With drop, one that there is no room for counts as dropped. It reports whether the
// caller is to give way.
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
		if drop && dropped == 1 { // both see it, and begin to count anew
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

// countDrops counts what was dropped as it was handed over. The mutex is held.
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

// collect puts what was handed over behind the other records, in the order of the tickets. The mutex is held.
func (s *Sender) collect() {
	if s.tickets.Load() != s.collected {
		s.collectAll(false)
	}
}

// collectAll is collect. With end, nothing can be handed over any more.
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
