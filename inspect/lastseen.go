package inspect

import (
	"hash/maphash"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// lastSeenPlaces records where each task was last found, so that the next snapshot can tell whether the task is still there. The mutex of places
// guards it.
var lastSeenPlaces = lastSeenTable{pages: make(map[uint32]*lastSeenPage)}

// A lastSeenTable has the entries of tasks by their number, several to a page. Tasks that were started one after the other have consecutive
// numbers, and snapshots visit them one after the other, so most tasks are on the same page as the one visited before.
type lastSeenTable struct {
	pages  map[uint32]*lastSeenPage // by the number of the page
	recent *lastSeenPage            // the page used last, or nil
	number uint32                   // the number of that page
	swept  time.Duration            // when entries were last deleted, as a time in lastSeen
}

// A lastSeenPage is small, since one long-lived task keeps its whole page in memory.
type lastSeenPage [4]lastSeen

// A lastSeen is the entry of one task. It is empty if count is zero.
type lastSeen struct {
	place       uint64 // a hash
	wait        waitIdentity
	first, last time.Duration // since seenFrom
	count       int           // number of snapshots in a row
}

// entry returns the entry of a task, which may be empty.
func (t *lastSeenTable) entry(id uint32) *lastSeen {
	const size = uint32(len(lastSeenPage{}))
	if number := id / size; t.recent == nil || t.number != number {
		p := t.pages[number]
		if p == nil {
			p = new(lastSeenPage)
			t.pages[number] = p
		}
		t.recent, t.number = p, number
	}
	return &t.recent[id%size]
}

// seenFrom is the start of all durations in the table.
var seenFrom = time.Now()

// A waitIdentity identifies a wait, so that it can be distinguished from a later one at the same place. The zero value is for waits that cannot
// be identified, such as those for a channel, a lock or a connection: for these the runtime shows only the stack, which is the same in each
// iteration of a loop.
type waitIdentity struct {
	waiter uint32            // the number of a wait inside this package
	last   bool              // this is the task's last wait
	scope  goroutine.Address // the label set of the scope that the task waits for
}

// keepLastSeen is how long the entry of a task is kept that no snapshot visits.
const keepLastSeen = time.Minute

// identity returns the identity of n's wait, whose fields are set except for its times; waiter may be nil.
func (w Wait) identity(waiter scope.Waiter, scope goroutine.Address) (id waitIdentity) {
	if waiter != nil {
		id.waiter = waiter.Identity()
	}
	id.scope = scope
	id.last = w.For == "tasks" || w.For == "nothing"
	return id
}

// seen records that n was found at a place, in a wait. It returns for how long snapshots have found it there, and in how many in a row.
func (t *lastSeenTable) seen(n *Node, wait waitIdentity, now time.Duration) (since time.Duration, count int) {
	place := hashBasis
	if n.stack != nil {
		place = n.stack.hash
	}
	place = hashed(place, maphash.String(placeSeed, n.Wait.For))
	place = hashed(place, maphash.String(placeSeed, n.Name))
	s := t.entry(n.ID)
	if s.count == 0 || s.place != place || s.wait != wait {
		*s = lastSeen{place: place, wait: wait, first: now}
	}
	s.last = now
	s.count++
	return max(0, now-s.first), s.count
}

// forget removes tasks that were not seen: immediately after a snapshot of all trees, otherwise when they have not been seen for keepLastSeen.
func (t *lastSeenTable) forget(begun, now time.Duration, whole bool) {
	if whole {
		t.deleteFunc(func(s *lastSeen) bool { return s.last < begun })
		return
	}
	if d := now - t.swept; d >= 0 && d < keepLastSeen {
		return
	}
	t.swept = now
	t.deleteFunc(func(s *lastSeen) bool { return now < s.last || now-s.last > keepLastSeen })
}

// deleteFunc deletes the entries for which old returns true, and the pages that are empty afterwards.
func (t *lastSeenTable) deleteFunc(old func(*lastSeen) bool) {
	t.recent = nil
	for number, p := range t.pages {
		empty := true
		for i := range p {
			if s := &p[i]; s.count > 0 && old(s) {
				*s = lastSeen{}
			}
			empty = empty && p[i].count == 0
		}
		if empty {
			delete(t.pages, number)
		}
	}
}
