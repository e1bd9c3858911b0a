package wakeup

import (
	"slices"
	"strings"
)

// A Waiter is one call that waits for something to happen in some queues.
type Waiter struct {
	events *Events
	queues []string
	set    string
	mark   uint64 // the last event that it knows
}

// Wait returns a waiter for queues. Call its End when it waits no longer.
func (e *Events) Wait(queues []string) *Waiter {
	set := strings.Join(slices.Sorted(slices.Values(queues)), "\n")
	return &Waiter{events: e, queues: queues, set: set, mark: e.borrow(set)}
}

// News reports whether something has happened that no waiter for these queues knows. From then on this one does.
func (w *Waiter) News() bool {
	if w.events.newest(w.queues) <= w.mark {
		return false
	}
	w.mark = w.events.last
	return true
}

// End keeps what the waiter knows for the next one for the same queues.
func (w *Waiter) End() { w.events.keep(w.set, w.mark) }
