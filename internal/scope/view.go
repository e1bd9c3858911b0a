package scope

import (
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A View is what a snapshot reads of a task at one moment.
type View struct {
	Canceled, Joining bool
	Below             []*Node           // the tasks below, the newest first
	Outer             goroutine.Address // of a scope: the labels that its goroutine has outside
}

// Inspect reads n, and adds those that wait with its ctx, or for its end, to the lists of their goroutines' label sets. It takes
// the ended tasks out of the list of those below: the runtime's leak profile would take them for reachable.
func (n *Node) Inspect(waits map[goroutine.Address][]Waiter) (v View) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v.Canceled, v.Joining = n.canceled.Load() != nil, n.isJoining()
	n.waiters(waits)
	if f := n.childTasks; f != nil {
		f.sweep()
		v.Below = n.children(nil)
		if f.scope != nil {
			v.Outer = f.scope.outer
		}
	}
	return v
}

// Tasks adds the tasks below n to a list.
func (n *Node) Tasks(list []*Node) []*Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.children(list)
}

// Waiting adds those that wait, as Inspect does.
func (n *Node) Waiting(waits map[goroutine.Address][]Waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiters(waits)
}
