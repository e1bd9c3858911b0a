package inspect

import (
	"hash/maphash"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// lastSeenPlaces remembers where each task was found, so that the next snapshot can say whether it is still there. The mutex of
// places guards it. It has an entry for each task that was seen lately.
var lastSeenPlaces = lastSeenTable{pages: make(map[uint32]*lastSeenPage)}

// A lastSeenTable has the entries of tasks by their number, several to a page: tasks that were started one after the other have
// numbers next to each other, and a snapshot comes to them one after the other, so that most are on the page of the one before.
type lastSeenTable struct {
	pages  map[uint32]*lastSeenPage // by what the numbers on a page have in common
	recent *lastSeenPage            // the one used last, or nil
	number uint32                   // under which it is in pages
	swept  time.Duration            // when, as in lastSeen
}

// A lastSeenPage is small because a task that outlives its neighbors keeps all of it.
type lastSeenPage [4]lastSeen

// A lastSeen is the entry of one task; it is empty where the count is zero.
type lastSeen struct {
	place       uint64 // a hash
	wait        waitIdentity
	first, last time.Duration // since seenFrom
	count       int           // snapshots in a row
}

// entry returns that of a task, which may be empty.
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

// seenFrom is what the times are counted from.
var seenFrom = time.Now()

// A waitIdentity tells a wait from a later one at the same place: two that are equal are one. The zero value is that of a
// wait of which this cannot be known, as of one for a channel, a lock or a connection: of these the runtime shows no more
// than the stack, which is the same for each time round a loop.
type waitIdentity struct {
	waiter uint32            // the number of a wait inside this package
	last   bool              // the task's last wait: there is none after it
	scope  goroutine.Address // the label set of the scope that is waited for
}

// keepLastSeen is how long a task of which no snapshot is taken is remembered.
const keepLastSeen = time.Minute

// identity says which wait n, with all but its times known, is in; its waiter may be nil.
func (w Wait) identity(waiter scope.Waiter, scope goroutine.Address) (id waitIdentity) {
	if waiter != nil {
		id.waiter = waiter.Identity()
	}
	id.scope = scope
	id.last = w.For == "tasks" || w.For == "nothing"
	return id
}

// seen notes that n was found in a place, in a wait. It returns since when the snapshots have found it there, and how many
// in a row have.
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

// forget removes those that were not seen: at once after a snapshot of all trees, else when none was taken for long.
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

// deleteFunc deletes the entries of which old is true, and the pages that are empty then.
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
