package meanwhile

import (
	"context"
	"errors"
	"slices"
	"time"
)

// end is deferred around the function of a task.
func (n *node) end(err *error) {
	if *err == errUnreturned {
		*err = recovered(recover())
	}
	if *err == nil && n.endEarly() {
		return
	}
	n.finish(*err)
}

// endEarly ends a task that met nothing unusual.
func (n *node) endEarly() bool {
	flags := n.flags.Load()
	if flags&isUsed != 0 || !n.flags.CompareAndSwap(flags, flags|isClosed|isFinished) {
		return false
	}
	n.unlink()
	return true
}

// verdict is what an error that a function returned means.
type verdict uint8

const (
	success  verdict = iota
	failure          // its own
	echo             // it passes on the failure of another task, which counts already
	obeyed           // it was canceled by its handle and stopped
	cutShort         // it was canceled from further up and stopped
)

// judge tells what err means for n.
func (n *node) judge(err error) verdict {
	if err == nil {
		return success
	}
	if n.echoes(err) {
		return echo
	}
	n.pull(false)
	c := n.canceled.Load()
	switch {
	case c == nil, !errors.Is(err, c.err) && (c.cause == nil || !errors.Is(err, c.cause)):
		return failure
	case c.from != n:
		return cutShort
	case c.err == context.DeadlineExceeded:
		return failure
	}
	return obeyed
}

// echoes reports whether err carries a failure that the scopes of n know of.
func (n *node) echoes(err error) bool {
	for p := n; ; {
		p.mu.Lock()
		if p.rare != nil && slices.ContainsFunc(p.rare.failed.errs, func(e error) bool { return errors.Is(err, e) }) {
			p.mu.Unlock()
			return true
		}
		p.mu.Unlock()
		if p = p.above(); p == nil {
			return false
		}
	}
}

// above returns the task or scope that a failure of n fails as well, or nil where it is met.
func (n *node) above() *node {
	if n.kind() != kindTask {
		return nil
	}
	if p := n.parent(); p.kind() != kindSupervise && p.kind() != kindStream {
		return p
	}
	return nil
}

// finish ends a task: it decides what its error means, tells the scopes above, waits for the tasks below, and wakes
// those who wait for it. It returns the outcome.
func (n *node) finish(err error) error {
	verdict := n.judge(err)
	if verdict != success {
		err = n.wrap(n.explain(err))
	}
	n.mu.Lock()
	n.use()
	leaf := n.live() == 0
	if leaf {
		n.flags.Or(isClosed)
	}
	n.mu.Unlock()

	// The scopes know of a failure before those who wait for the task, so that they tell it from an echo; and a task
	// with nothing below it is marked as ended before its scope is canceled, so that whoever waits for it there meets
	// its failure and not the cancellation that follows.
	own := err
	top := n
	if verdict == failure {
		top = n.recordFailure(own)
	}
	if leaf {
		err = n.settle(own, verdict)
	}
	switch verdict {
	case failure:
		top.cancel(&cancellation{err: context.Canceled, cause: own, from: top})
	case cutShort:
		n.markCut()
	}
	if !leaf {
		n.join()
		cut := verdict == success && n.is(isCut) && !n.hasFailed()
		if cut { // the function has returned nil, but what it started stopped by n's cancellation
			own = n.wrap(n.canceled.Load().error())
			verdict = n.judge(own)
			if verdict == failure {
				top = n.recordFailure(own)
			}
		}
		err = n.settle(own, verdict)
		if cut && verdict == failure {
			top.cancel(&cancellation{err: context.Canceled, cause: own, from: top})
		}
	}
	n.release()
	defer n.unlink() // the observer may call Goexit
	if p := n.parent(); p.kind() == kindSupervise && err != nil && (verdict == failure || err != own) {
		p.superviseFailure(n)
	}
	if late := n.tellEnd(err); late != nil {
		n.failLate(late)
		err = joinFailures(err, late)
	}
	return err
}

// explain adds the cause of n's cancellation to an error that tells of it.
func (n *node) explain(err error) error {
	if c := n.canceled.Load(); c != nil && errors.Is(err, c.err) {
		return withCause(err, c.cause)
	}
	return err
}

// wrap adds n's path to err, unless it is an item, which has an ItemError, or err has a path already.
func (n *node) wrap(err error) error {
	if _, ok := err.(*TaskError); ok || n.kind() == kindItem {
		return err
	}
	return &TaskError{Path: n.path(), Err: err}
}

// settle makes the outcome of a task final and returns it: its own failure, else the first of a task below, else that
// it stopped.
func (n *node) settle(err error, v verdict) error {
	n.mu.Lock()
	if r := n.rare; v != failure && r != nil && len(r.failed.errs) > 0 {
		err = r.failed.errs[0]
	}
	if err != nil {
		n.moreLocked().err = err
	}
	n.flags.Or(isFinished)
	var buf [4]waker
	waiting := n.ends.wakers(buf[:0])
	n.ends = nil
	n.mu.Unlock()
	for _, w := range waiting {
		w.wake()
	}
	return err
}

// leave ends a scope or a stream, below which nothing runs any more. It returns the failure of the observer, if that panicked.
func (n *node) leave(err error) (late error) {
	n.flags.Or(isFinished)
	n.release()
	defer n.unlink()
	return n.tellEnd(err)
}

// release lets go of what a finished n holds outside the tree. The grace of a shield cannot begin any more.
func (n *node) release() {
	n.mu.Lock()
	attached := n.done != nil || n.after != nil
	var timer *time.Timer
	var detach func() bool
	if r := n.rare; r != nil {
		timer, detach = r.timer, r.detach
	}
	n.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if detach != nil {
		detach()
	}
	if attached {
		n.cancel(ended)
	}
}

// tellEnd tells the observer that n has ended with err, and returns its failure if it panics.
func (n *node) tellEnd(err error) (late error) {
	f := n.shared.observe
	if f == nil {
		return nil
	}
	late = errUnreturned
	defer func() {
		if late == errUnreturned {
			late = n.wrap(recovered(recover()))
		}
	}()
	f(Event{Kind: TaskEnded, Path: n.path(), Err: err, Elapsed: time.Since(n.rare.begin)})
	return nil
}

// failLate fails the scopes above n, whose own outcome is final; where tasks fail alone, it is a failure of their scope.
func (n *node) failLate(err error) {
	if n.kind() != kindTask {
		return
	}
	top := n.recordFailure(err)
	if top != n {
		top.cancel(&cancellation{err: context.Canceled, cause: err, from: top})
		return
	}
	p := n.parent()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moreLocked().failed.add(err)
}

// hasFailed reports whether a failure of a task below, or of the function itself, is recorded in n.
func (n *node) hasFailed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rare != nil && len(n.rare.failed.errs) > 0
}

// recordFailure tells the scopes above of a failure of n and returns the highest that it fails: the nearest Run, or the
// task right below the nearest Supervise.
func (n *node) recordFailure(err error) (top *node) {
	top = n
	for p := n.above(); p != nil; p = p.above() {
		p.mu.Lock()
		p.moreLocked().failed.add(err)
		p.mu.Unlock()
		top = p
	}
	return top
}

// markCut tells the scopes above that the cancellation which reached n kept work of theirs from being finished.
func (n *node) markCut() {
	c := n.canceled.Load()
	for ; n != nil && n.kind() != kindStream && n.canceled.Load() == c && !n.is(isBackground); n = n.parent() {
		n.flags.Or(isCut)
	}
}

// superviseFailure keeps a failed task until somebody has waited for it, or the scope n ends.
func (n *node) superviseFailure(failed *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if failed.is(isObserved) {
		return
	}
	r := n.moreLocked()
	if len(r.unwaited) == maxFailures {
		r.unwaited = slices.DeleteFunc(r.unwaited, func(k *node) bool { return k.is(isObserved) })
	}
	if len(r.unwaited) < maxFailures {
		r.unwaited = append(r.unwaited, failed)
		return
	}
	if failed.flags.Or(isCounted)&isObserved == 0 {
		r.lost++
	}
}

// observed marks the failure of n as one that somebody has waited for.
func (n *node) observed() {
	if flags := n.flags.Or(isObserved); flags&isCounted == 0 || flags&isObserved != 0 {
		return
	}
	p := n.parent()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rare.lost--
}
