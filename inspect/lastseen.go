package inspect

import (
	"time"
	"weak"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// lastSeenPlaces remembers where each task was found, so that the next snapshot can say whether it is still there. The mutex of
// places guards it. It has an entry for each task that was seen lately.
var lastSeenPlaces = lastSeenMap{at: make(map[uint32]lastSeen)}

type lastSeenMap struct {
	at    map[uint32]lastSeen
	swept time.Time
}

type lastSeen struct {
	stack       uint64 // a hash
	wait        waitIdentity
	first, last time.Time
	count       int // snapshots in a row
}

// A waitIdentity tells a wait from a later one at the same place: two that are equal are one. The zero value is that of a
// wait of which this cannot be known, as of one for a channel, a lock or a connection: of these the runtime shows no more
// than the stack, which is the same for each time round a loop.
type waitIdentity struct {
	waiter weak.Pointer[scope.BlockedWait] // of a wait inside this package
	scope  goroutine.Address               // the label set of the scope that is waited for
	last   bool                            // the task's last wait: there is none after it
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
func (m *lastSeenMap) seen(n *Node, now time.Time) (since time.Duration, count int) {
	place := uint64(14695981039346656037) // FNV-1a
	add := func(x uint64) { place = (place ^ x) * 1099511628211 }
	for _, p := range n.stack {
		add(p.serial)
	}
	n.calls = place
	for _, text := range [...]string{n.Wait.For, n.Name} {
		for i := range len(text) {
			add(uint64(text[i]))
		}
		add(256)
	}
	s, ok := m.at[n.ID]
	if !ok || s.stack != place || s.wait != n.wait {
		s = lastSeen{stack: place, wait: n.wait, first: now}
	}
	s.last = now
	s.count++
	m.at[n.ID] = s
	return max(0, now.Sub(s.first)), s.count
}

// forget removes those that were not seen: at once after a snapshot of all trees, else when none was taken for long.
func (m *lastSeenMap) forget(begun time.Time, whole bool) {
	now := time.Now()
	if whole {
		for id, s := range m.at {
			if s.last.Before(begun) {
				delete(m.at, id)
			}
		}
		return
	}
	if d := now.Sub(m.swept); d >= 0 && d < keepLastSeen {
		return
	}
	m.swept = now
	for id, s := range m.at {
		if d := now.Sub(s.last); d < 0 || d > keepLastSeen {
			delete(m.at, id)
		}
	}
}
