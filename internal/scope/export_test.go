package scope

import "context"

// CancelAlone cancels n and not yet the tasks below it: this is how a tree looks while a cancellation goes down.
func (n *Node) CancelAlone(cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.canceled.Store(&cancellation{err: context.Canceled, Cause: cause, from: n})
	if n.done != nil {
		close(n.done)
	}
}
