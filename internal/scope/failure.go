package scope

import (
	"context"
	"log/slog"
	"slices"
)

// failLate makes err a failure of the scopes above n, whose own outcome is final already. Where the failures of tasks do not propagate,
// it makes err a failure of n's scope alone.
func (n *Node) failLate(err error) {
	if n.Kind() != KindTask {
		return
	}
	if n.above() != nil {
		n.record(err)
		n.cancelTop(err)
		return
	}
	if n.Parent.Kind() == KindStream { // whose failures nobody reads
		n.Parent.Parent.FailLater(err)
		return
	}
	n.Parent.fails(err)
}

// FailLater makes err, a failure of work that continued after its task had ended, a failure of the nearest scope above that can still
// fail. If there is none, err is logged, and reported to the observer. n may be nil.
func (n *Node) FailLater(err error) {
	for p := n; p != nil; p = p.Parent {
		top := p.top()
		if top.failsUntilClosed(err) {
			p.failedBelowLater(err, top)
			top.Cancel(&cancellation{err: context.Canceled, Cause: err, from: top})
			return
		}
		p = top
	}
	path := ""
	if n != nil {
		path = n.Path()
		if late := n.observeEnd(err, 0); late != nil {
			slog.Error("a panic of an observer after the end of a task", "task", path, "error", late)
		}
	}
	slog.Error("a panic after the end of its task", "task", path, "error", err)
}

func (n *Node) failsUntilClosed(err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.moreLocked() // it sets isUsed: a scope that closes sees that and reads the failures, or else this finds the scope closed
	if n.Is(isClosed) || n.childTasks != nil && n.childTasks.below.load().isClosed() {
		return false
	}
	r.failed.Add(err)
	return true
}

// record records a failure of n in its top, the highest task that it fails, and in the tasks between.
func (n *Node) record(err error) {
	switch top := n.top(); {
	case top != n:
		top.fails(err)
		n.Parent.failedBelow(err, top)
	case n.Is(hasTasks) || len(n.recorded()) > 0:
		n.fails(err)
	}
}

// joinBelow joins the failure of n and those of the tasks below whose top is n.
//
//go:noinline
func (n *Node) joinBelow(err error) error {
	if n.top() != n {
		return err
	}
	if f := n.failures(); len(f.errs) > 0 {
		return f.ledBy(err, failed).Join()
	}
	return err
}

// fails records a failure of a task whose top is n.
func (n *Node) fails(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moreLocked().failed.Add(err)
}

// failedBelow records err as the first failure of a task below n, and of one below each task above n, up to top. It stops at a task that
// has a failure already: the tasks above have one too, or will have one before they can end, since the task that failed has not ended.
func (n *Node) failedBelow(err error, top *Node) {
	for ; n != top && n.failsFirst(err); n = n.Parent {
	}
}

// failedBelowLater is failedBelow for a failure of a task that has ended. It begins at the top: a task that stops at n relies on it that the
// tasks above n have a failure, too.
func (n *Node) failedBelowLater(err error, top *Node) {
	var path []*Node
	for ; n != top; n = n.Parent {
		path = append(path, n)
	}
	for _, p := range slices.Backward(path) {
		p.failsFirst(err)
	}
}

// failsFirst records err as the first failure of a task below n. It returns false if there is one already.
func (n *Node) failsFirst(err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.moreLocked()
	if r.first != nil {
		return false
	}
	r.first = err
	return true
}

// cancelTop cancels the top of n, the highest task that a failure of n fails.
func (n *Node) cancelTop(err error) {
	top := n.top()
	top.Cancel(&cancellation{err: context.Canceled, Cause: err, from: top})
}

// superviseFailure keeps a failed task until a caller has waited for it, or the scope n ends.
func (n *Node) superviseFailure(failed *Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if failed.Is(isObserved) {
		return
	}
	r := n.moreLocked()
	if len(r.unwaited) == maxFailures {
		r.unwaited = slices.DeleteFunc(r.unwaited, func(k *Node) bool { return k.Is(isObserved) })
	}
	if len(r.unwaited) < maxFailures {
		r.unwaited = append(r.unwaited, failed)
		return
	}
	if failed.flags.Or(isCounted)&isObserved == 0 {
		r.lost++
	}
}

// Observed marks the failure of n as one that a caller has waited for.
func (n *Node) Observed() {
	if flags := n.flags.Or(isObserved); flags&isCounted == 0 || flags&isObserved != 0 {
		return
	}
	p := n.Parent
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lazy.lost--
}
