package sqlite

import (
	stdheap "container/heap"
	"container/list"
	"slices"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/job"
)

// The bounds of what is kept in memory of the lanes of a queue.
const (
	// mostKnown bounds how many lanes are known whose jobs may start, and twice as many those that wait for a time. A background search through the
	// file brings others in whenever there is capacity, so that each has its turn.
	mostKnown = 1 << 14
	// mostHeads is how many waiting jobs of a lane are read at once, but where more are claimed.
	mostHeads = 16
)

// laneMemory is what this process knows of lanes. It is a copy of what the file says, up to a change of the lanes that the file has too, so a process
// that dies loses nothing. The one writer of the store uses it.
type laneMemory struct {
	queues map[int64]*knownQueue
	seen   int64       // the last change that is in it
	by     *txn        // that has used it and is not committed
	stale  atomic.Bool // the tables were made anew
}

// use gives the memory to a transaction. If the last one that had it was rolled back, all is read again.
func (m *laneMemory) use(t *txn) {
	if m.stale.Swap(false) || m.queues == nil || m.by != nil && m.by != t {
		m.queues, m.seen = map[int64]*knownQueue{}, -1
	}
	m.by = t
}

// committed is called when what a transaction wrote counts.
func (m *laneMemory) committed(t *txn) {
	if m.by == t {
		m.by = nil
	}
}

// A knownQueue is what is known of the lanes of a queue: those of which a job may start, and those that are looked at again at some time. Of any other
// lane no job may start before a change of it.
type knownQueue struct {
	byKey      map[string]*knownLane
	open       [job.HighestPriority]list.List // of *knownLane, by turn
	openLanes  int
	wakes      laneWakes
	changed    []string        // keys of lanes that have changed since the last claim
	isChanged  map[string]bool // the same
	turn       int64           // the last that was given
	atCapacity bool            // the file says that a lane was at capacity
	inOrder    bool            // the jobs of a key run in order

	// The background search goes through the keys in the file, from its first claim on, and again where lanes had to be forgotten.
	searching bool
	after     string // the keys up to it are done
	forgotten bool   // lanes were forgotten since it began
	again     int64  // when to search for lanes that wait for a time; zero for never
}

func newKnownQueue() *knownQueue {
	return &knownQueue{byKey: map[string]*knownLane{}, isChanged: map[string]bool{}, searching: true}
}

// A knownLane is a lane with the first of its waiting jobs.
type knownLane struct {
	key      string
	priority int // 0 while none of its jobs may start
	turn     int64
	served   int
	heads    []head // due jobs of the priority, the first of them
	more     bool   // others wait behind them
	used     head   // the last of the heads that was taken and is still in the file; its seq is 0 where there is none
	place    *list.Element
	wake     int64 // when to look at it again; zero for never
	index    int   // among those to wake
}

// A head is a job that waits by what the file said when it was read. Another process may have claimed it since.
type head struct {
	priority int
	runAt    int64
	id       job.ID
	seq      int64
}

// put places a lane among those whose jobs may start, by its turn, which is mostly the last.
func (q *knownQueue) put(l *knownLane, priority int) {
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
	for before != nil && before.Value.(*knownLane).turn > l.turn {
		before = before.Prev()
	}
	if before == nil {
		l.place = q.open[priority-1].PushFront(l)
	} else {
		l.place = q.open[priority-1].InsertAfter(l, before)
	}
}

// inTurn reports whether a lane comes between those beside it.
func (l *knownLane) inTurn() bool {
	before, behind := l.place.Prev(), l.place.Next()
	return (before == nil || before.Value.(*knownLane).turn < l.turn) && (behind == nil || behind.Value.(*knownLane).turn > l.turn)
}

func (q *knownQueue) setWake(l *knownLane, wake int64) {
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

// forget removes a lane.
func (q *knownQueue) forget(l *knownLane) {
	q.put(l, 0)
	q.setWake(l, 0)
	delete(q.byKey, l.key)
}

// change notes that the next claim is to look at a lane.
func (q *knownQueue) change(key string) {
	if !q.isChanged[key] {
		q.isChanged[key] = true
		q.changed = append(q.changed, key)
	}
}

// changeAll notes that any lane may have changed but for its jobs.
func (q *knownQueue) changeAll() {
	for len(q.wakes) > 0 {
		l := q.wakes[len(q.wakes)-1]
		if q.setWake(l, 0); l.place == nil {
			q.forget(l)
		} else {
			q.change(l.key)
		}
	}
	q.again = 0
	q.search()
}

// search has the background search find lanes that were forgotten.
func (q *knownQueue) search() {
	if q.searching {
		q.forgotten = true
	} else {
		q.searching, q.after = true, ""
	}
}

// last returns the lane with a limit key whose turn comes last.
func (q *knownQueue) last() *knownLane {
	for i := range q.open {
		for place := q.open[i].Back(); place != nil; place = place.Prev() {
			if l := place.Value.(*knownLane); l.key != "" {
				return l
			}
		}
	}
	return nil
}

// forgetLate forgets those of the lanes that only wait for a time that have longest to wait, half of them, when they are too many.
func (q *knownQueue) forgetLate() {
	if len(q.wakes) <= 2*mostKnown {
		return
	}
	var late []*knownLane
	for _, l := range q.wakes {
		if l.place == nil && l.key != "" {
			late = append(late, l)
		}
	}
	slices.SortFunc(late, func(a, b *knownLane) int { return int(a.wake - b.wake) })
	late = late[len(late)/2:]
	if q.again == 0 || late[0].wake < q.again {
		q.again = late[0].wake
	}
	for _, l := range late {
		q.forget(l)
	}
}

// laneWakes are lanes by when to look at them again, a heap.
type laneWakes []*knownLane

// Len, Less, Swap, Push and Pop are for container/heap.
func (w laneWakes) Len() int           { return len(w) }
func (w laneWakes) Less(i, j int) bool { return w[i].wake < w[j].wake }
func (w laneWakes) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *laneWakes) Push(x any) {
	l := x.(*knownLane)
	l.index = len(*w)
	*w = append(*w, l)
}

func (w *laneWakes) Pop() any {
	last := len(*w) - 1
	l := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return l
}
