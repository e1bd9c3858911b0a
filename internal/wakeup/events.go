// Package wakeup wakes the callers of a store that wait for jobs in queues. A caller that waits again also gets events that happened in between.
package wakeup

import "slices"

// Bounds of what is kept. Beyond them callers are woken more often than needed, but never less.
const (
	mostQueues = 10_000 // with events of their own; beyond that, an event counts for every queue
	mostSets   = 1_000  // sets of queues that callers have waited for, and do not at present
	mostMarks  = 1_000  // callers of one set
)

// Events are numbered events of queues. The zero value is ready to use. The caller must guard them, and the waiters that Wait returns, with a mutex.
type Events struct {
	last    uint64
	all     uint64            // the last event of every queue
	queues  map[string]uint64 // the last event by queue
	changed chan struct{}     // closed by the next Wake; nil if no caller waits

	// marks has, by set of queues, the last events known to callers that are not waiting at present. The next caller gets the lowest mark: callers
	// cannot be distinguished, and it is better to wake one twice than not at all.
	marks map[string][]uint64
}

// Notify records an event of a queue, and wakes all callers.
func (e *Events) Notify(queue string) {
	if _, known := e.queues[queue]; !known && len(e.queues) >= mostQueues {
		e.NotifyAll()
		return
	}
	if e.queues == nil {
		e.queues = map[string]uint64{}
	}
	e.last++
	e.queues[queue] = e.last
	e.Wake()
}

// NotifyAll records an event of every queue, and wakes all callers.
func (e *Events) NotifyAll() {
	e.last++
	e.all = e.last
	e.Wake()
}

// Wake makes all callers check again, without an event.
func (e *Events) Wake() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// Changed returns a channel that the next Wake closes.
func (e *Events) Changed() <-chan struct{} {
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}

// borrow takes the lowest mark of a set of queues, 0 if there is none.
func (e *Events) borrow(set string) uint64 {
	marks := e.marks[set]
	if len(marks) == 0 {
		return 0
	}
	if len(marks) == 1 {
		delete(e.marks, set)
	} else {
		e.marks[set] = marks[1:]
	}
	return marks[0]
}

// keep returns a mark for a later caller.
func (e *Events) keep(set string, mark uint64) {
	marks := e.marks[set]
	if len(marks) >= mostMarks {
		return
	}
	if len(marks) == 0 && len(e.marks) >= mostSets {
		for other := range e.marks {
			delete(e.marks, other)
			break
		}
	}
	if e.marks == nil {
		e.marks = map[string][]uint64{}
	}
	i, _ := slices.BinarySearch(marks, mark)
	e.marks[set] = slices.Insert(marks, i, mark)
}
