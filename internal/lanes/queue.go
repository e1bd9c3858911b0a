// Package lanes is what a process knows of the lanes of queues from one claim to the next, and how it claims by that. A store that has a log of what
// has changed uses it: what is known is a copy of what the database says, up to a change in that log, so a process that dies loses nothing.
package lanes

import (
	stdheap "container/heap"
	"container/list"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// The bounds of what is known of the lanes of a queue.
const (
	// MostKnown bounds how many lanes are known whose jobs may start, and twice as many those that wait for a time. A background search through the
	// database brings others in whenever there is capacity, so that each has its turn.
	MostKnown = 1 << 14
	// mostHeads is how many waiting jobs of a lane are read at once, but where more are claimed.
	mostHeads = 16
	// mostWoken bounds how many lanes a claim looks at again that have changed, and of those whose time has come, so that none takes long. The next
	// one goes on.
	mostWoken = 2000
)

// A Queue is what is known of the lanes of a queue: those of which a job may start, those that are looked at again at some time, and some that are at
// capacity. Of any other lane no job may start before a change of it.
type Queue struct {
	byKey     map[string]*lane
	open      [job.HighestPriority]list.List // of *lane, by turn
	openLanes int
	fullLanes int
	wakes     wakes
	changed   []string        // keys of lanes that have changed since the last claim
	isChanged map[string]bool // the same
	turn      int64           // the last that was given
	latest    string          // the key whose turn ended last in a claim of this process
	inOrder   bool            // the jobs of a key run in order

	// AtCapacity is set when a lane is found at capacity. Before that, the end of a job says nothing of a lane that is not known.
	AtCapacity bool

	// The background search goes through the keys in the database, from its first claim on, and again where lanes had to be forgotten.
	searching bool
	after     string // the keys up to it are done
	forgotten bool   // lanes were forgotten since it began
	again     int64  // when to search for lanes that wait for a time; zero for never
}

// New returns a queue of which nothing is known: the background search begins.
func New() *Queue {
	return &Queue{byKey: map[string]*lane{}, isChanged: map[string]bool{}, searching: true}
}

// Renew has nothing be known of the queue. The search begins behind the key whose turn ended last: however often all is forgotten, each key has its turn.
func (q *Queue) Renew() {
	renewed := New()
	renewed.turn, renewed.inOrder = q.turn, q.inOrder
	renewed.latest, renewed.after, renewed.forgotten = q.latest, q.latest, q.latest != ""
	*q = *renewed
}

// A lane is one with the first of its waiting jobs.
type lane struct {
	key      string
	priority int // 0 while none of its jobs may start
	turn     int64
	served   int
	heads    []Head // due jobs of the priority, the first of them
	more     bool   // others wait behind them
	used     Head   // the last of the heads that was taken since they were read from the beginning
	unsaid   bool   // the store does not know of it, see Rows.Used
	unsure   bool   // the heads may not be all that there is before the last of them
	full     bool   // at capacity, with heads for when it is not
	place    *list.Element
	wake     int64 // when to look at it again; zero for never
	index    int   // among those to wake
}

// A Head is a job that waits by what the database said when it was read. Another process may have claimed it since.
type Head struct {
	Priority int
	RunAt    int64 // microseconds since 1970
	ID       job.ID
	Row      int64 // where the store finds it; never zero
}

// put places a lane among those whose jobs may start, by its turn, which is mostly the last.
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

// inTurn reports whether a lane comes between those beside it.
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

// setFull notes whether a lane is at capacity and is kept for when it is not.
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

// Forget has the queue not know a lane, as if a change were lost. It is for tests.
func (q *Queue) Forget(key string) {
	if l := q.byKey[key]; l != nil {
		q.forget(l)
	}
}

// Known returns how many lanes are known.
func (q *Queue) Known() int { return len(q.byKey) }

// change notes that the next claim is to look at a lane.
func (q *Queue) change(key string) {
	if !q.isChanged[key] {
		q.isChanged[key] = true
		q.changed = append(q.changed, key)
	}
}

// ChangeAll notes that any lane may have changed but for its jobs.
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

// Change notes that a lane has changed in a way of which nothing else is known. It reports false where so many have that to search for them costs
// less: nothing is to be known of the queue then, and so for the others. Of lanes that the search comes to anyway only the first are noted.
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

// Added notes that a job was added to a lane.
func (q *Queue) Added(key string, priority int, runAt int64) bool {
	if l := q.byKey[key]; l != nil && l.behind(priority, runAt) {
		l.more = true
		return true
	}
	return q.Change(key)
}

// behind reports whether a new job comes after all of the lane that are known.
func (l *lane) behind(priority int, runAt int64) bool {
	if len(l.heads) == 0 {
		return false
	}
	last := l.heads[len(l.heads)-1]
	return priority < last.Priority || priority == last.Priority && runAt > last.RunAt
}

// Ended notes that a job of a lane has ended.
func (q *Queue) Ended(key string) bool {
	l := q.byKey[key]
	switch {
	case q.inOrder: // the next one may have a higher priority than one that another process has claimed
		return q.Change(key)
	case l == nil && !q.AtCapacity, l != nil && l.priority > 0:
		return true // it may go on starting others, by no higher priority
	}
	q.change(key)
	return len(q.changed) <= mostWoken
}

// turnsEnded marks lanes whose turns have ended. Less one for each, a mark is how many jobs have started in their turns.
const turnsEnded = -1

// Turned notes what another process has left of turns, see [Claim.Turns]. Lanes whose turns have ended get in line behind the others.
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

// search has the background search find lanes that were forgotten.
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

// forgetLate forgets those of the lanes that only wait for a time that have longest to wait, half of them, when they are too many.
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

// wakes are lanes by when to look at them again, a heap.
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
