package wakeup

import (
	"slices"
	"strings"
)

// A Waiter is one call that waits for events of queues.
type Waiter struct {
	events *Events
	queues []string
	set    string
	mark   uint64 // the last event that it knows of
}

// Wait returns a waiter for queues. Call its End when it no longer waits.
func (e *Events) Wait(queues []string) *Waiter {
	set := strings.Join(slices.Sorted(slices.Values(queues)), "\n")
	return &Waiter{events: e, queues: queues, set: set, mark: e.borrow(set)}
}

// News reports whether there was an event that this waiter does not know of yet. From then on it knows of it.
func (w *Waiter) News() bool {
	if w.events.newest(w.queues) <= w.mark {
		return false
	}
	w.mark = w.events.last
	return true
}

// End keeps what the waiter knows for the next waiter for the same queues.
func (w *Waiter) End() { w.events.keep(w.set, w.mark) }
