package scope

import (
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A View is what a snapshot reads of a task at one moment.
type View struct {
	Canceled, Joining bool
	Outer             goroutine.Address // of a scope: the labels that its goroutine has outside
}

// Lists are what a snapshot reads of tasks, one after the other: each read appends.
type Lists struct {
	Below     []*Node  // the tasks below, the newest first
	Waiters   []Waiter // the waiters in the task's own goroutine
	Elsewhere []ElsewhereWaiter
}

// Clear empties the lists, and keeps their space for the next snapshot.
func (l *Lists) Clear() {
	clear(l.Below[:cap(l.Below)])
	clear(l.Waiters)
	clear(l.Elsewhere)
	l.Below, l.Waiters, l.Elsewhere = l.Below[:0], l.Waiters[:0], l.Elsewhere[:0]
}

// An ElsewhereWaiter is a waiter whose goroutine has another label set than the task at which it was found.
type ElsewhereWaiter struct {
	Set goroutine.Address
	Waiter
}

// Inspect reads n, and appends to the lists the tasks below it and the waiters with its ctx, or for its end. It removes ended tasks from n's
// children, since the runtime's leak profile would take them for reachable.
func (n *Node) Inspect(l *Lists) (v View) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v.Canceled, v.Joining = n.canceled.Load() != nil, n.isJoining()
	n.waiters(l)
	if f := n.childTasks; f != nil {
		f.sweep()
		l.Below = n.children(l.Below)
		if f.scope != nil {
			v.Outer = f.scope.outer
		}
	}
	return v
}

// Tasks appends the tasks below n to a list.
func (n *Node) Tasks(list []*Node) []*Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.children(list)
}

// Waiting appends the waiters, as Inspect does.
func (n *Node) Waiting(l *Lists) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiters(l)
}
