package scope

import "time"

// Enter is called first in the goroutine of a task.
func (n *Node) Enter() {
	LabelGoroutine(n.Labels)
	n.flags.Or(IsStarted)
}

// End ends a task after its function has returned, when the stack is shallow again: a deeper call would make it grow. A snapshot
// recognizes the goroutine of a task that waits for the tasks below by the name of this function.
//
//go:noinline
func (n *Node) End(err error) { n.Finish(err) }

// endEarly ends a task that started no tasks and has nothing attached to it. It returns false for other tasks.
func (n *Node) endEarly() bool {
	flags := n.flags.Load()
	if flags&(isUsed|hasTasks) != 0 || !n.flags.CompareAndSwap(flags, flags|isClosed|IsFinished) {
		return false
	}
	n.unlink()
	return true
}

// Finish ends a task with the error that its function returned: it decides what that means, reports a failure to the scopes above, waits
// for the tasks below, and wakes those who wait for the task. It returns the task's error if the task is an item, is observed or is below
// Supervise, and nil for other tasks, whose error is that of Failure.
func (n *Node) Finish(err error) error {
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
	if leaf {
		outcome, err = n.judgeCut(outcome, err)
	}

	// A failure is recorded in the scopes before those who wait for the task are woken, so that the scopes recognize it as a duplicate
	// when a waiter returns it. A task with nothing below it is marked as ended before its scope is canceled, so that a waiter
	// there gets its failure and not the cancellation that follows.
	if outcome == failed {
		err = n.Wrap(n.explain(err))
		n.record(err)
	}
	if leaf {
		n.setOutcome(err, outcome)
	}
	switch outcome {
	case failed:
		n.cancelTop(err)
	case canceledAbove:
		n.markCut()
	}
	if !leaf {
		n.Join()
		known := outcome == failed
		outcome, err = n.judgeCut(outcome, err)
		cut := !known && outcome == failed
		if cut {
			err = n.Wrap(err)
			n.record(err)
		}
		n.setOutcome(err, outcome)
		if cut {
			n.cancelTop(err)
		}
	}
	n.release()
	defer n.unlink() // the observer may call Goexit
	return n.report(outcome)
}

// judgeCut judges a task again, below which nothing runs any more: if its function has returned nil, but its cancellation has stopped a task
// that it started, its error is that of the cancellation.
func (n *Node) judgeCut(o outcome, err error) (outcome, error) {
	if o != succeeded || !n.Is(isCut) || n.failureBelow() != nil {
		return o, err
	}
	err = n.CatchUp().Failure()
	return n.judge(err), err
}

// report passes the error of a finished task to its supervisor and its observer, and returns it.
func (n *Node) report(outcome outcome) error {
	supervised := n.Parent.Kind() == KindSupervise
	if !supervised && n.shared.observe == nil && n.Kind() != KindItem {
		return nil // the others call Failure
	}
	err := n.Failure()
	if supervised && err != nil && (outcome == failed || n.Is(isFailedBelow)) {
		n.Parent.superviseFailure(n)
	}
	if late := n.reportEnd(err); late != nil {
		n.failLate(late)
		err = JoinFailures(err, late)
	}
	return err
}

// explain adds the cause of n's cancellation to an error that carries the cancellation, unless err is a panic.
func (n *Node) explain(err error) error {
	switch err.(type) {
	case *panicked, *PanicError:
		return err
	}
	if c := n.canceled.Load(); c != nil && Claims(err, c.err) {
		return WithCause(err, c.Cause)
	}
	return err
}

// Wrap adds n's path to err, unless n is an item, which has an ItemError, or err has a path already.
func (n *Node) Wrap(err error) error {
	if p, ok := err.(*panicked); ok {
		err = p.PanicError
	}
	if _, ok := err.(*TaskError); ok || n.Kind() == KindItem {
		return err
	}
	return &TaskError{Path: n.Path(), Err: err}
}

// setOutcome makes the error of a task final: its own failure, else the first failure of a task below, else the cancellation that stopped
// it. The other failures are joined to it if no scope above gets them.
func (n *Node) setOutcome(err error, outcome outcome) {
	flags := IsFinished
	if outcome == failed {
		err = n.joinBelow(err)
	} else {
		if below := n.failureBelow(); below != nil {
			err = below
			flags |= isFailedBelow
		} else if c := n.canceled.Load(); c != nil && c.isError(err) {
			flags |= isInterrupted
		} else if err != nil { // c may be nil: the task that err is the failure of wakes n before it cancels n
			err = n.Wrap(n.explain(err))
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
		w.Wake()
	}
}

// Failure returns the error that a finished task ended with. An error that says no more than the task's cancellation is not stored, but
// created here on demand.
func (n *Node) Failure() error {
	flags := n.flags.Load()
	switch {
	case flags&isInterrupted != 0:
		return n.Wrap(n.canceled.Load().Failure())
	case flags&isUsed == 0:
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lazy == nil {
		return nil
	}
	return n.lazy.err
}

// Leave ends a scope or a stream, below which nothing runs any more. It returns the panic of the observer as an error, if there was one.
func (n *Node) Leave(err error) (late error) {
	n.flags.Or(IsFinished)
	n.release()
	defer n.unlink() // the observer may call Goexit
	return n.reportEnd(err)
}

// release releases what a finished n holds outside the tree: its timer, its attachment to a foreign base, and what is attached to n. The
// grace period of a shield cannot start any more.
func (n *Node) release() {
	if !n.Is(isUsed) {
		return
	}
	n.mu.Lock()
	attached := n.canceled.Load() == nil && (n.done != nil || n.after != nil)
	var timer *time.Timer
	var detach func() bool
	if r := n.lazy; r != nil {
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
		n.Cancel(ended)
	}
}

// reportEnd calls the observer with the error that n has ended with. If the observer panics, it returns that as an error.
func (n *Node) reportEnd(err error) (late error) {
	if n.shared.observe == nil {
		return nil
	}
	return n.observeEnd(err, time.Since(n.lazy.started))
}

// observeEnd calls the observer, if there is one.
func (n *Node) observeEnd(err error, took time.Duration) (late error) {
	f := n.shared.observe
	if f == nil {
		return nil
	}
	late = ErrUnreturned
	defer func() {
		if late == ErrUnreturned {
			late = n.Wrap(NewPanic(recover()))
		}
	}()
	f.TaskEnded(n.Path(), err, took)
	return nil
}

// markCut marks n and the scopes above whose work was left unfinished because of the cancellation that reached n, up to the one where it
// entered the tree, or the shield that it passed after the grace period. Those between may not have it yet, or may have another one that was
// first.
func (n *Node) markCut() {
	from := n.canceled.Load().from
	for ; n != nil && n.Kind() != KindStream && !n.Is(IsBackground|isCut); n = n.Parent {
		n.flags.Or(isCut)
		if n == from || n.Kind() == KindShield {
			return
		}
	}
}
