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
	sorted := queues
	if !slices.IsSorted(sorted) {
		sorted = slices.Sorted(slices.Values(queues))
	}
	set := strings.Join(sorted, "\n")
	return &Waiter{events: e, queues: queues, set: set, mark: e.borrow(set)}
}

// News returns the queues in which there was an event that this waiter does not know of yet, none if there was none. From then on it knows of it.
func (w *Waiter) News() (due []string) {
	e := w.events
	switch {
	case e.last <= w.mark:
		return nil
	case e.all > w.mark:
		due = slices.Clone(w.queues)
	default:
		for _, q := range w.queues {
			if e.queues[q] > w.mark {
				due = append(due, q)
			}
		}
	}
	if len(due) > 0 {
		w.mark = e.last
	}
	return due
}

// End keeps what the waiter knows for the next waiter for the same queues.
func (w *Waiter) End() { w.events.keep(w.set, w.mark) }
