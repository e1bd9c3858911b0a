package inspect

import (
	"hash/maphash"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// lastSeenPlaces remembers where each task was last found, so that the next snapshot can say whether it is still there. The mutex of places guards
// it.
var lastSeenPlaces = lastSeenTable{pages: make(map[uint32]*lastSeenPage)}

// A lastSeenTable has the entries of tasks by their number, several to a page. Tasks that were started one after the other have consecutive numbers,
// and snapshots visit them one after the other, so most are on the page of the one before.
type lastSeenTable struct {
	pages  map[uint32]*lastSeenPage // by the number of the page
	recent *lastSeenPage            // the one used last, or nil
	number uint32                   // the number of recent in pages
	swept  time.Duration            // when, as in lastSeen
}

// A lastSeenPage is small, since one task that lives long keeps its whole page.
type lastSeenPage [4]lastSeen

// A lastSeen is the entry of one task; it is empty where the count is zero.
type lastSeen struct {
	place       uint64 // a hash
	wait        waitIdentity
	first, last time.Duration // since seenFrom
	count       int           // snapshots in a row
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

// seenFrom is the time that durations are counted from.
var seenFrom = time.Now()

// A waitIdentity identifies a wait, so that it can be distinguished from a later one at the same place. The zero value is for waits that cannot be identified,
// such as those for a channel, a lock or a connection: for these the runtime shows only the stack, which is the same each time round a loop.
type waitIdentity struct {
	waiter uint32            // the number of a wait inside this package
	last   bool              // the task's last wait: there is none after it
	scope  goroutine.Address // the label set of the scope that is waited for
}

// keepLastSeen is how long a task is remembered that no snapshot visits.
const keepLastSeen = time.Minute

// identity returns the identity of n's wait, whose fields are known but for its times; waiter may be nil.
func (w Wait) identity(waiter scope.Waiter, scope goroutine.Address) (id waitIdentity) {
	if waiter != nil {
		id.waiter = waiter.Identity()
	}
	id.scope = scope
	id.last = w.For == "tasks" || w.For == "nothing"
	return id
}

// seen notes that n was found at a place, in a wait. It returns since when snapshots have found it there, and how many in a row.
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

// forget removes tasks that were not seen: at once after a snapshot of all trees, otherwise if there was none for long.
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

// deleteFunc deletes the entries for which old returns true, and the pages that are then empty.
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
