package scope

import (
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A view is what a snapshot reads of a task at one moment.
type view struct {
	Canceled, Joining bool
	Below             []*Node           // the tasks below, the newest first
	Outer             goroutine.Address // of a scope: the labels that its goroutine has outside
}

// Look reads n, and adds those that wait with its ctx, or for its end, to the lists of their goroutines' label sets. It takes
// the ended tasks out of the list of those below: the runtime's leak profile would take them for reachable.
func (n *Node) Look(waits map[goroutine.Address][]Waiter) (v view) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v.Canceled, v.Joining = n.canceled.Load() != nil, n.Is(IsJoining)
	n.waiters(waits)
	if f := n.family; f != nil {
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

// Waiting is look for those that wait alone.
func (n *Node) Waiting(waits map[goroutine.Address][]Waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiters(waits)
}
