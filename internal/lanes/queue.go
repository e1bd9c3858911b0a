// Package lanes keeps what a process knows of the lanes of queues from one claim to the next, and claims with that. It is for stores that have a log
// of changes: what is known is a copy of the state in the database, as of a change in that log, so nothing is lost when a process dies.
package lanes

import (
	stdheap "container/heap"
	"container/list"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Bounds of what is known of the lanes of a queue.
const (
	// MostKnown bounds how many lanes are known whose jobs may start; twice as many are known that wait for a time. A background search through the
	// database finds the others when there is capacity, so that each has its turn.
	MostKnown = 1 << 14
	// mostHeads is how many waiting jobs of a lane are read at once, unless more are claimed.
	mostHeads = 16
	// mostWoken bounds how many changed lanes a claim checks, and how many whose time has come, so that no claim takes long. The next one continues.
	mostWoken = 2000
)

// A Queue is what is known of the lanes of a queue: those with a job that may start, those to check again at some time, and some that are at
// capacity. No other lane can start a job before it changes.
type Queue struct {
	byKey     map[string]*lane
	open      [job.HighestPriority]list.List // of *lane, by turn
	openLanes int
	fullLanes int
	wakes     wakes
	changed   []string        // keys of lanes that have changed since the last claim
	isChanged map[string]bool // the same keys, as a set
	turn      int64           // the last turn that was given to a lane
	latest    string          // the key whose turn was the last to end in a claim of this process
	inOrder   bool            // the jobs of a key run in order

	// AtCapacity is set when a lane is found at capacity. Until then, the end of a job does not matter for a lane that is not known.
	AtCapacity bool

	// The background search goes through the keys in the database, from the first claim on, and again if lanes had to be forgotten.
	searching bool
	after     string // keys up to this one are done
	forgotten bool   // lanes were forgotten since it began
	again     int64  // when to search for lanes that wait for a time; zero is never
}

// New returns a queue of which nothing is known, so that the background search starts.
func New() *Queue {
	return &Queue{byKey: map[string]*lane{}, isChanged: map[string]bool{}, searching: true}
}

// Renew forgets all that is known of the queue. The search then starts after the key whose turn ended last, so that each key has its turn however
// often all is forgotten.
func (q *Queue) Renew() {
	renewed := New()
	renewed.turn, renewed.inOrder = q.turn, q.inOrder
	renewed.latest, renewed.after, renewed.forgotten = q.latest, q.latest, q.latest != ""
	*q = *renewed
}

// A lane is what is known of one lane, with its first waiting jobs.
type lane struct {
	key      string
	priority int // 0 if none of its jobs may start
	turn     int64
	served   int
	heads    []Head // due jobs of the priority; the first ones
	more     bool   // other jobs wait behind them
	used     Head   // the last head that was taken since they were read from the beginning
	unsaid   bool   // the store has yet to be informed, see Rows.Used
	unsure   bool   // heads may be missing before the last of them
	full     bool   // at capacity, with heads for when it no longer is
	place    *list.Element
	wake     int64 // when to check it again; zero is never
	index    int   // among those to wake
}

// A Head is a waiting job, as of when it was read. Another process may have claimed it since.
type Head struct {
	Priority int
	RunAt    int64 // microseconds since 1970
	ID       job.ID
	Row      int64 // its place in the store; never zero
}

// put inserts a lane by its turn, which is usually the last, among the lanes whose jobs may start.
func (q *Queue) put(l *lane, priority int) {
	if l.place != nil && l.priority == priority && l.inTurn() {
		return
	}
	if l.place != nil {
		q.open[l.priority-1].Remove(l.place)
		l.place = nil
		q.openLanes--
	}
	l.priority = priority
	if priority == 0 {
		return
	}
	q.openLanes++
	before := q.open[priority-1].Back()
	for before != nil && before.Value.(*lane).turn > l.turn {
		before = before.Prev()
	}
	if before == nil {
		l.place = q.open[priority-1].PushFront(l)
	} else {
		l.place = q.open[priority-1].InsertAfter(l, before)
	}
}

// inTurn reports whether a lane's turn is between those of its neighbors.
func (l *lane) inTurn() bool {
	before, behind := l.place.Prev(), l.place.Next()
	return (before == nil || before.Value.(*lane).turn < l.turn) && (behind == nil || behind.Value.(*lane).turn > l.turn)
}

func (q *Queue) setWake(l *lane, wake int64) {
	if l.wake == wake {
		return
	}
	if l.wake != 0 {
		stdheap.Remove(&q.wakes, l.index)
	}
	if l.wake = wake; wake != 0 {
		stdheap.Push(&q.wakes, l)
	}
}

// setFull records whether a lane is at capacity and kept for when it no longer is.
func (q *Queue) setFull(l *lane, full bool) {
	if l.full != full {
		l.full = full
		if full {
			q.fullLanes++
		} else {
			q.fullLanes--
		}
	}
}

// forget removes a lane.
func (q *Queue) forget(l *lane) {
	q.setFull(l, false)
	q.put(l, 0)
	q.setWake(l, 0)
	delete(q.byKey, l.key)
}

// Forget removes a lane, as if a change had been lost. It is for tests.
func (q *Queue) Forget(key string) {
	if l := q.byKey[key]; l != nil {
		q.forget(l)
	}
}

// Known returns how many lanes are known.
func (q *Queue) Known() int { return len(q.byKey) }

// change makes the next claim check a lane.
func (q *Queue) change(key string) {
	if !q.isChanged[key] {
		q.isChanged[key] = true
		q.changed = append(q.changed, key)
	}
}

// ChangeAll records that all lanes may have changed, but not their jobs.
func (q *Queue) ChangeAll() {
	for len(q.wakes) > 0 {
		l := q.wakes[len(q.wakes)-1]
		if q.setWake(l, 0); l.place == nil {
			q.forget(l)
		} else {
			q.change(l.key)
		}
	}
	for _, l := range q.byKey {
		if l.full {
			q.forget(l)
		}
	}
	q.again = 0
	q.search()
}

// Change records that a lane has changed in an unknown way. It returns false if so many have changed that a search for them costs less: then the
// caller should forget everything, also if Added or Ended returns false. Of lanes that the search will reach anyway, only the first are recorded.
func (q *Queue) Change(key string) bool {
	switch l := q.byKey[key]; {
	case l != nil:
		l.unsure = true
	case q.searching && key > q.after && len(q.changed) >= leastLoaded:
		return true
	}
	q.change(key)
	return len(q.changed) <= mostWoken
}

// Added records that a job was added to a lane.
func (q *Queue) Added(key string, priority int, runAt int64) bool {
	if l := q.byKey[key]; l != nil && l.behind(priority, runAt) {
		l.more = true
		return true
	}
	return q.Change(key)
}

// behind reports whether a new job comes after all known jobs of the lane.
func (l *lane) behind(priority int, runAt int64) bool {
	if len(l.heads) == 0 {
		return false
	}
	last := l.heads[len(l.heads)-1]
	return priority < last.Priority || priority == last.Priority && runAt > last.RunAt
}

// Ended records that a job of a lane has ended.
func (q *Queue) Ended(key string) bool {
	l := q.byKey[key]
	switch {
	case q.inOrder: // its next job may have a higher priority than one that another process has claimed
		return q.Change(key)
	case l == nil && !q.AtCapacity, l != nil && l.priority > 0:
		return true // it may start others, of no higher priority
	}
	q.change(key)
	return len(q.changed) <= mostWoken
}

// turnsEnded is the mark of lanes whose turns have ended. Other marks are lower by one for each job that has started in the current turn.
const turnsEnded = -1

// Turned applies what another process has written about turns, see [Claim.Turns]. Lanes whose turns have ended get in line behind the others.
func (q *Queue) Turned(keys []string, mark int) {
	for _, key := range keys {
		l := q.byKey[key]
		switch {
		case l == nil || l.place == nil:
		case mark == turnsEnded:
			q.turn++
			l.turn, l.served = q.turn, 0
			q.put(l, l.priority)
		default:
			l.served = turnsEnded - mark
		}
	}
}

// search makes the background search find lanes that were forgotten.
func (q *Queue) search() {
	if q.searching {
		q.forgotten = true
	} else {
		q.searching, q.after = true, ""
	}
}

// last returns the lane with a limit key whose turn comes last.
func (q *Queue) last() *lane {
	for i := range q.open {
		for place := q.open[i].Back(); place != nil; place = place.Prev() {
			if l := place.Value.(*lane); l.key != "" {
				return l
			}
		}
	}
	return nil
}

// forgetLate removes half of the lanes that only wait for a time, those with the latest times, if there are too many.
func (q *Queue) forgetLate() {
	if len(q.wakes) <= 2*MostKnown {
		return
	}
	var late []*lane
	for _, l := range q.wakes {
		if l.place == nil && l.key != "" {
			late = append(late, l)
		}
	}
	slices.SortFunc(late, func(a, b *lane) int { return int(a.wake - b.wake) })
	late = late[len(late)/2:]
	if q.again == 0 || late[0].wake < q.again {
		q.again = late[0].wake
	}
	for _, l := range late {
		q.forget(l)
	}
}

// wakes is a heap of lanes by when to check them again.
type wakes []*lane

// Len, Less, Swap, Push and Pop are for container/heap.
func (w wakes) Len() int           { return len(w) }
func (w wakes) Less(i, j int) bool { return w[i].wake < w[j].wake }
func (w wakes) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *wakes) Push(x any) {
	l := x.(*lane)
	l.index = len(*w)
	*w = append(*w, l)
}

func (w *wakes) Pop() any {
	last := len(*w) - 1
	l := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return l
}
