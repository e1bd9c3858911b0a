package scope

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// ForbidCycle panics if waiter is n, or below it: such a wait would never end.
func (n *Node) ForbidCycle(waiter *Node) {
	if n.Parent == waiter {
		return // the usual case, which needs no walk
	}
	for w := waiter; w != nil; w = w.Parent {
		if w == n {
			panic("meanwhile: " + waiter.String() + " waits for " + n.Path() + ", which cannot end before it: " +
				"wait in the function that started the task, or pass the result on")
		}
	}
}

// Ended returns a channel that is closed when n and everything below it has ended.
func (n *Node) Ended() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.use()&IsFinished != 0 {
		return closed
	}
	if n.ends != nil {
		if d, ok := n.ends.w.(*doneChannel); ok {
			return d.done
		}
	}
	d := &doneChannel{done: make(chan struct{})}
	d.after.n, d.after.w = n, d
	d.after.link(&n.ends)
	return d.done
}

// A doneChannel is closed at the end of a task.
type doneChannel struct {
	after After
	done  chan struct{}
}

func (d *doneChannel) Wake() { close(d.done) }

// An EndWaiter is a goroutine that waits for the end of a task.
type EndWaiter struct {
	BlockedWait
	end After             // in the list of the task that it waits for
	set goroutine.Address // the goroutine's label set
}

// Target returns the task that it waits for.
func (j *EndWaiter) Target() *Node { return j.end.n }

func (*EndWaiter) Kind() WaiterKind { return ForEnd }

// StillWaits reports whether the wait is not over. It does not depend on the ctx of the wait, which may not be that of a task.
func (j *EndWaiter) StillWaits() bool { return j.end.linked() && !j.IsAwake() }

// Await returns when n has ended, or ctx is canceled.
func (n *Node) Await(ctx context.Context) {
	j := &EndWaiter{set: currentSet()}
	j.Ready()
	if n.onEnd(&j.end, j) {
		j.Block(ctx, j)
		if !n.Is(IsFinished) {
			j.end.Stop()
		}
	}
}

// onEnd wakes w when n has ended. If it has already, onEnd returns false and does not wake w.
func (n *Node) onEnd(a *After, w waker) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.use()&IsFinished != 0 {
		return false
	}
	head := &n.ends
	if *head != nil {
		if _, ok := (*head).w.(*doneChannel); ok {
			head = &(*head).next
		}
	}
	a.n, a.w = n, w
	a.link(head)
	return true
}
