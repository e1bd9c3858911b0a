package meanwhile

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// endEarly ends a task that met nothing unusual.
func (n *node) endEarly() bool {
	flags := n.flags.Load()
	if flags&isUsed != 0 || !n.flags.CompareAndSwap(flags, flags|isClosed|isFinished) {
		return false
	}
	n.unlink()
	return true
}

// finish ends a task with the error that its function returned: it decides what that means, reports a failure to the scopes
// above, waits for the tasks below, and wakes those who wait for the task. It returns the task's error.
func (n *node) finish(err error) error {
	if err == nil && n.endEarly() {
		return nil
	}
	outcome := n.judge(err)
	n.mu.Lock()
	n.use()
	leaf := n.live() == 0
	if leaf {
		n.flags.Or(isClosed)
	}
	n.mu.Unlock()

	// The scopes know of a failure before those who wait for the task, so that they tell it from a duplicate; and a task
	// with nothing below it is marked as ended before its scope is canceled, so that whoever waits for it there meets
	// its failure and not the cancellation that follows.
	if outcome == failed {
		err = n.wrap(n.explain(err))
		n.record(err)
	}
	if leaf {
		n.settle(err, outcome)
	}
	switch outcome {
	case failed:
		n.cancelTop(err)
	case cutShort:
		n.markCut()
	}
	if !leaf {
		n.join()
		cut := outcome == succeeded && n.is(isCut) && n.failureBelow() == nil
		if cut { // the function has returned nil, but what it started stopped by n's cancellation
			err = n.canceled.Load().error()
			if outcome = n.judge(err); outcome == failed {
				err = n.wrap(err)
				n.record(err)
			}
		}
		n.settle(err, outcome)
		if cut && outcome == failed {
			n.cancelTop(err)
		}
	}
	n.release()
	defer n.unlink() // the observer may call Goexit
	return n.report(outcome)
}

// report passes the error of a finished task to those that are to know it, and returns it.
func (n *node) report(outcome outcome) error {
	supervised := n.parent().kind() == kindSupervise
	if !supervised && n.shared.observe == nil && n.kind() != kindItem {
		return nil // the others ask the task
	}
	err := n.error()
	if supervised && err != nil && (outcome == failed || n.is(isFailedBelow)) {
		n.parent().superviseFailure(n)
	}
	if late := n.tellEnd(err); late != nil {
		n.failLate(late)
		err = joinFailures(err, late)
	}
	return err
}

// explain adds the cause of n's cancellation to an error that carries it, unless that is the value of a panic.
func (n *node) explain(err error) error {
	switch err.(type) {
	case *panicked, *PanicError:
		return err
	}
	if c := n.canceled.Load(); c != nil && claims(err, c.err) {
		return withCause(err, c.cause)
	}
	return err
}

// wrap adds n's path to err, unless it is an item, which has an ItemError, or err has a path already.
func (n *node) wrap(err error) error {
	if p, ok := err.(*panicked); ok {
		err = p.PanicError
	}
	if _, ok := err.(*TaskError); ok || n.kind() == kindItem {
		return err
	}
	return &TaskError{Path: n.path(), Err: err}
}

// settle makes the error of a task final: its own failure, else the first of a task below, else that it stopped.
func (n *node) settle(err error, outcome outcome) {
	flags := isFinished
	if outcome != failed {
		if below := n.failureBelow(); below != nil {
			err = below
			flags |= isFailedBelow
		} else if err != nil && n.canceled.Load().isError(err) {
			flags |= isInterrupted
		} else if err != nil {
			err = n.wrap(n.explain(err))
		}
	}
	n.mu.Lock()
	if err != nil && flags&isInterrupted == 0 {
		n.moreLocked().err = err
	}
	n.flags.Or(flags)
	var buf [4]waker
	waiting := n.ends.wakers(buf[:0])
	n.ends = nil
	n.mu.Unlock()
	for _, w := range waiting {
		w.wake()
	}
}

// error is what a finished task ended with. An error that says no more than its cancellation is made here, for who asks.
func (n *node) error() error {
	flags := n.flags.Load()
	switch {
	case flags&isInterrupted != 0:
		return n.wrap(n.canceled.Load().error())
	case flags&isUsed == 0:
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rare == nil {
		return nil
	}
	return n.rare.err
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
			late = n.wrap(newPanic(recover()))
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
	if n.above() != nil {
		n.record(err)
		n.cancelTop(err)
		return
	}
	n.parent().fails(err, n)
}

// failLater makes err a failure of the nearest scope above that can still fail, for what went on when its task had ended.
// Where there is none, it is logged, and reported to the observer. n may be nil.
func (n *node) failLater(err error) {
	for p := n; p != nil; p = p.parent() {
		top := p.top()
		if top.failsUntilClosed(err, p) {
			top.cancel(&cancellation{err: context.Canceled, cause: err, from: top})
			return
		}
		p = top
	}
	path := ""
	if n != nil {
		path = n.path()
		if f := n.shared.observe; f != nil {
			f(Event{Kind: TaskEnded, Path: path, Err: err})
		}
	}
	slog.Error("a panic after the end of its task", "task", path, "error", err)
}

func (n *node) failsUntilClosed(err error, task *node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.is(isClosed) {
		return false
	}
	n.moreLocked().failed.add(err, task)
	return true
}

// record notes a failure of n in the highest that it fails.
func (n *node) record(err error) {
	if top := n.top(); top != n {
		top.fails(err, n)
	}
}

// fails notes a failure of the given task in n.
func (n *node) fails(err error, task *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moreLocked().failed.add(err, task)
}

// cancelTop cancels the highest that a failure of n fails.
func (n *node) cancelTop(err error) {
	top := n.top()
	top.cancel(&cancellation{err: context.Canceled, cause: err, from: top})
}

// markCut tells the scopes above that the cancellation which reached n kept work of theirs from being finished.
func (n *node) markCut() {
	c := n.canceled.Load()
	for ; n != nil && n.kind() != kindStream && n.canceled.Load() == c && !n.is(isBackground|isCut); n = n.parent() {
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
