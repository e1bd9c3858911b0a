package scope

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A Scope is a task that runs in its caller's goroutine.
type Scope struct {
	Node
	tasks children
	Limit *Sem              // of its tasks; nil for none
	outer goroutine.Address // the labels that the goroutine has outside the scope
}

// TakesPlace marks n as a task that releases one of the scope's places when it ends.
func (n *Node) TakesPlace() { n.flags.Or(hasPlace) }

// Places returns the semaphore that limits the tasks of n, or nil if n is not a scope with a limit.
func (n *Node) Places() *Sem {
	switch n.Kind() {
	case KindRun, KindSupervise, KindShield:
		return n.childTasks.scope.Limit
	}
	return nil
}

func NewScope() *Scope {
	s := new(Scope)
	s.childTasks = &s.tasks
	s.tasks.scope = s
	return s
}

// Run opens the scope, runs fn in it and closes it. Until it returns, the goroutine has the labels of the scope.
func (s *Scope) Run(ctx context.Context, kind Kind, fn func(context.Context) error, o *Settings) (err error) {
	if goroutine.Exact {
		s.outer = goroutine.Current()
		defer s.outer.Restore()
	} else {
		mustNotBeNil(ctx)
		defer pprof.SetGoroutineLabels(ctx)
	}
	s.Open(ctx, kind, o)
	if s.Parent == nil {
		s.Register()
		defer s.Unregister()
	}
	LabelGoroutine(s.Labels)
	return s.call(fn)
}

// call runs fn and closes the scope. A snapshot recognizes by the name of this function where a scope starts on a stack.
//
//go:noinline
func (s *Scope) call(fn func(context.Context) error) (err error) {
	err = ErrUnreturned
	defer func() {
		goexit := false
		if err == ErrUnreturned {
			err = NewPanic(recover())
			goexit = err == ErrGoexit
		}
		if err = s.close(err); goexit {
			s.passOnFailures()
		}
	}()
	s.TellStart()
	return fn(&s.Node)
}

// passOnFailures makes the failures of tasks below n failures of the task that n runs in, because Goexit keeps Run from returning them.
// It leaves out ErrGoexit, which that task gets by itself. The failures of a root are logged.
func (n *Node) passOnFailures() {
	f := n.failures()
	f.errs = slices.DeleteFunc(slices.Clone(f.errs), func(err error) bool { return err == ErrGoexit })
	switch err := f.Join(); {
	case err == nil:
	case n.Parent == nil:
		slog.Error("what failed in a scope that runtime.Goexit has ended", "task", n.Path(), "error", err)
	default:
		n.Parent.FailLater(err)
	}
}

// close ends a scope and returns its error.
func (n *Node) close(err error) error {
	outcome := n.judge(err)
	if p, ok := err.(*panicked); ok {
		err = p.PanicError
	}
	if outcome != succeeded {
		err = n.explain(err)
	}
	if outcome == failed {
		n.fails(err)
		n.Cancel(&cancellation{err: context.Canceled, Cause: err, from: n})
	}
	n.Join()
	err = n.sum(err, outcome)
	return JoinFailures(err, n.Leave(err))
}

// sum returns the error of a scope: err, which its function returned, and the failures of the tasks below.
func (n *Node) sum(err error, outcome outcome) error {
	if err == nil && !n.Is(isUsed|isCut) {
		return nil
	}
	f := n.failures()
	none := len(f.errs) == 0 && f.more == 0
	switch {
	case none && err != nil:
		return err
	case none && n.Is(isCut):
		return n.CatchUp().Failure()
	case err != nil:
		f = f.ledBy(err, outcome)
	}
	return f.Join()
}

// ledBy puts err, which the function returned, in place of the failures that err wraps, if err adds a text of its own to the first one.
func (f Failures) ledBy(err error, outcome outcome) Failures {
	if len(f.errs) == 0 || !addsFailures(err, f.errs[0]) {
		return f
	}
	if outcome == failed && !SameError(err, err) {
		return f // it is one of them, which cannot be found
	}
	others := slices.DeleteFunc(slices.Clone(f.errs[1:]), func(e error) bool { return carries(err, e) })
	return Failures{append([]error{err}, others...), f.more}
}

// failures returns the failures of the tasks below, all of which have ended.
func (n *Node) failures() (f Failures) {
	var unwaited []*Node
	n.mu.Lock()
	if r := n.lazy; r != nil {
		f, unwaited = r.failed, r.unwaited
		f.errs = slices.Clip(f.errs)
		f.more += r.lost
	}
	n.mu.Unlock()
	for _, k := range unwaited {
		if !k.Is(isObserved) {
			f.Add(k.Failure())
		}
	}
	return f
}

// addsFailures reports whether err wraps the failure with a text of its own, as opposed to reporting the cancellation that the failure
// caused.
func addsFailures(err, failure error) bool {
	return carries(err, failure) && (!Claims(err, context.Canceled) || Claims(failure, context.Canceled))
}

// startGrace starts the grace period of a shielded scope; when it is over, the cancellation c cancels the scope.
func (n *Node) startGrace(c *cancellation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Is(IsFinished) || n.canceled.Load() != nil {
		return
	}
	r := n.moreLocked()
	if r.shielded {
		return
	}
	r.shielded = true
	end := time.Now().Add(r.Grace)
	if n.Is(isTimed) && r.deadline.Before(end) {
		return // the scope's own timeout comes first
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.deadline = end
	n.flags.Or(isTimed)
	r.timer = time.AfterFunc(r.Grace, func() {
		n.Cancel(&cancellation{err: c.err, Cause: c.Cause, from: c.from})
	})
}
