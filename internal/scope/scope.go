package scope

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A Scope is a task that is run by its caller's goroutine.
type Scope struct {
	Node
	tasks children
	Limit *Sem              // of its tasks; nil for none
	outer goroutine.Address // the labels that the goroutine has outside
}

// TakesPlace notes that the end of n gives one of the places back.
func (n *Node) TakesPlace() { n.flags.Or(hasPlace) }

// Places are those for the tasks of n, if it is a scope that has a limit, or nil.
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

// Run opens the scope, runs fn in it and closes it. Meanwhile the goroutine has the labels of the scope.
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

// call runs fn and closes the scope. A snapshot knows where on a stack a scope begins by the name of this function.
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

// passOnFailures makes the failures below n ones of the task that it is in, when Goexit, which that meets by itself, keeps Run from
// returning them. Those of a root are logged.
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

// sum puts together what a scope returns.
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
		return n.canceled.Load().Failure()
	case err != nil:
		f = f.ledBy(err, outcome)
	}
	return f.Join()
}

// ledBy puts err, which the function returned, in place of those of the failures that it passes on, if it has words of its own.
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

// failures are those of the tasks below, none of which runs any more.
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

// addsFailures reports whether err passes the failure on with words of its own, as opposed to telling of the cancellation
// that the failure led to.
func addsFailures(err, failure error) bool {
	return carries(err, failure) && (!Claims(err, context.Canceled) || Claims(failure, context.Canceled))
}

// startGrace lets the cancellation c reach a shielded scope when its grace is over.
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
