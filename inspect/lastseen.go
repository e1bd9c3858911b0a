package inspect

import (
	"hash/maphash"
	"maps"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// lastSeenPlaces remembers where each task was found, so that the next snapshot can say whether it is still there. The mutex of
// places guards it. It has an entry for each task that was seen lately.
var lastSeenPlaces = lastSeenMap{at: make(map[uint32]*lastSeen)}

type lastSeenMap struct {
	at    map[uint32]*lastSeen
	swept time.Duration // when, as in lastSeen
}

type lastSeen struct {
	place       uint64 // a hash
	wait        waitIdentity
	first, last time.Duration // since seenFrom
	count       int           // snapshots in a row
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

// Identity says which wait n, with all but its times known, is in; its waiter may be nil.
func (w Wait) Identity(waiter scope.Waiter, scope goroutine.Address) (id waitIdentity) {
	if waiter != nil {
		id.waiter = waiter.Identity()
	}
	id.scope = scope
	id.last = w.For == "tasks" || w.For == "nothing"
	return id
}

// seen notes that n was found in a place, in a wait. It returns since when the snapshots have found it there, and how many
// in a row have.
func (m *lastSeenMap) seen(n *Node, wait waitIdentity, now time.Duration) (since time.Duration, count int) {
	place := hashBasis
	if n.stack != nil {
		place = n.stack.hash
	}
	place = hashed(place, maphash.String(placeSeed, n.Wait.For))
	place = hashed(place, maphash.String(placeSeed, n.Name))
	s := m.at[n.ID]
	if s == nil {
		s = new(lastSeen)
		m.at[n.ID] = s
	}
	if s.count == 0 || s.place != place || s.wait != wait {
		*s = lastSeen{place: place, wait: wait, first: now}
	}
	s.last = now
	s.count++
	return max(0, now-s.first), s.count
}

// forget removes those that were not seen: at once after a snapshot of all trees, else when none was taken for long.
func (m *lastSeenMap) forget(begun, now time.Duration, whole bool) {
	if whole {
		maps.DeleteFunc(m.at, func(_ uint32, s *lastSeen) bool { return s.last < begun })
		return
	}
	if d := now - m.swept; d >= 0 && d < keepLastSeen {
		return
	}
	m.swept = now
	maps.DeleteFunc(m.at, func(_ uint32, s *lastSeen) bool { return now < s.last || now-s.last > keepLastSeen })
}
