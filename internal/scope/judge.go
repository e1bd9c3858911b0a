package scope

import (
	"context"
	"slices"
)

// An outcome is what the end of a function means for its task.
type outcome uint8

const (
	succeeded     outcome = iota
	failed                // with an error of its own
	duplicate             // its error is the failure of another task, which counts already
	canceled              // it stopped because its handle canceled it
	canceledAbove         // it stopped because it was canceled from further up
)

// judge decides what err, which n's function returned, means. A task merely stopped, and did not fail, when every leaf of its error's
// tree is the cancellation, its cause, or a failure that is recorded already; so an error that is joined with one of these is not lost.
func (n *Node) judge(err error) outcome {
	if err == nil {
		return succeeded
	}
	if _, ok := err.(*panicked); ok || err == ErrGoexit {
		return failed
	}
	n.Pull(false)
	c := n.canceled.Load()
	if c == nil && isCanceled(err) { // other failures need no walk up the tree, which would take long in a deep one
		c = n.CatchUp()
	}
	recorded := n.top().recorded()
	if c == nil && len(recorded) == 0 {
		return failed
	}
	if c != nil && c.isPlainError(err, recorded) {
		return c.stops(n)
	}
	own, passedOn := false, false
	complete := WalkErrors(err, func(e error, leaf bool) bool {
		switch {
		case own:
			return true
		case isOneOf(e, recorded):
			passedOn = true
			return true
		case c != nil && (SameError(e, c.Cause) || leaf && isOrClaims(e, c.err)):
			return true
		}
		own = leaf
		return leaf
	})
	switch {
	case own || !complete:
		return failed
	case passedOn:
		return duplicate
	}
	return c.stops(n)
}

// stops returns the outcome of n if it stopped because of c.
func (c *cancellation) stops(n *Node) outcome {
	switch {
	case c.from != n:
		return canceledAbove
	case c.err == context.DeadlineExceeded:
		return failed
	}
	return canceled
}

// isPlainError reports whether err is the error of n's ctx, which nearly every canceled task returns, and none of the recorded failures.
// It does not walk the error's tree, which would need more than the initial stack of a goroutine.
func (c *cancellation) isPlainError(err error, recorded []error) bool {
	if err != c.err { // comparable: c.err is of package context
		return false
	}
	for _, r := range recorded {
		if _, ok := r.(*TaskError); !ok {
			return false
		}
	}
	return true
}

func isOneOf(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return SameError(err, e) })
}

// HasFailure reports whether err is a failure that is recorded in n or in a scope above it. n may be nil.
func (n *Node) HasFailure(err error) bool {
	for ; n != nil; n = n.Parent {
		n = n.top()
		if isOneOf(err, n.recorded()) {
			return true
		}
	}
	return false
}

// recorded returns the failures of tasks below n that are recorded in n. They are only ever appended to.
func (n *Node) recorded() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lazy == nil {
		return nil
	}
	return n.lazy.failed.errs
}

// above returns the task or scope that a failure of n also fails, or nil if it stops at n.
func (n *Node) above() *Node {
	if n.Kind() != KindTask {
		return nil
	}
	if p := n.Parent; p.Kind() != KindSupervise && p.Kind() != KindStream {
		return p
	}
	return nil
}

// top returns the highest task that a failure of n fails: the nearest scope of Run or Shield, the nearest item, or the task right below
// the nearest Supervise. The failures of all tasks up to it are recorded there. A task stores its top when its first child starts: in a
// deep tree, walking up from every failed task would be slow.
func (n *Node) top() *Node {
	if p := n.above(); p != nil {
		return p.childTasks.top
	}
	return n
}

// failureBelow returns the first failure of a task below n that counts for n, joined with the others whose top is n.
func (n *Node) failureBelow() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch r := n.lazy; {
	case r == nil:
		return nil
	case len(r.failed.errs) > 0:
		return r.failed.Join()
	default:
		return r.first
	}
}
