package meanwhile

import (
	"context"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// Run opens a scope: it calls fn, waits for every task that was started in it, and returns. The first failure, of fn or
// of a task, cancels the others, with the failure as the cause of their contexts, and is returned once all have ended;
// failures that come after it are joined behind it. An error that says no more than that a task was canceled is left out; one
// that is joined with another, and a panic, are not. When ctx is canceled and work was cut short by it, Run returns ctx's
// error together with its cause.
//
// fn runs in the caller's goroutine. A panic in it is returned as a [*PanicError], like one in a task. Scopes nest: in a
// task, Run makes a scope whose failures the task can handle. The ctx given to fn is canceled when Run returns.
//
// What fn defers runs when fn returns, before the tasks that it started have ended: release what the tasks use after Run
// instead.
func Run(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) error {
	return runScope(ctx, kindRun, "Run", fn, opts)
}

// Supervise opens a scope whose tasks fail alone: the others go on. It returns the failure of fn, which cancels the
// tasks, joined with the failures of those tasks that nobody waited for by [Task.Wait]. At most 100 of them are kept, and
// the rest counted; Observe reports each at once.
//
// Only the tasks started by fn with its own ctx are apart from each other; in each of them the first failure cancels
// what is below it, as everywhere.
func Supervise(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) error {
	return runScope(ctx, kindSupervise, "Supervise", fn, opts)
}

// Shield runs fn as a scope that a cancellation from outside does not reach until grace has passed since it: the
// place to finish a write or to say goodbye. A ctx that is canceled already gives fn the whole grace; a deadline of
// ctx counts when it passes, as a cancellation. Shield returns what [Run] would. It panics unless grace is positive.
func Shield(ctx context.Context, grace time.Duration, fn func(ctx context.Context) error, opts ...TaskOption) error {
	if grace <= 0 {
		panic("meanwhile: Shield with a grace of " + grace.String() + ": give a positive duration, or call the function itself for none")
	}
	o := readScope("Shield", opts)
	s := newScope()
	s.more().grace = grace
	return s.run(ctx, kindShield, fn, o)
}

func runScope(ctx context.Context, kind kind, caller string, fn func(context.Context) error, opts []TaskOption) error {
	if len(opts) == 0 {
		return newScope().run(ctx, kind, fn, nil)
	}
	return newScope().run(ctx, kind, fn, readScope(caller, opts))
}

// A scope is a task that is run by its caller's goroutine.
type scope struct {
	node
	tasks  family
	places *Semaphore        // of MaxTasks; nil for no limit
	root   root              // when no task is above
	outer  goroutine.Address // the labels that the goroutine has outside
}

func newScope() *scope {
	s := new(scope)
	s.family = &s.tasks
	s.tasks.scope = s
	return s
}

func readScope(caller string, opts []TaskOption) *taskOptions {
	o := new(taskOptions).read(opts)
	if o.background {
		panic("meanwhile: Background given to " + caller + ", which waits for its function: give it to Go, Async or After")
	}
	return o
}

// run opens the scope, runs fn in it and closes it. Meanwhile the goroutine has the labels of the scope.
func (s *scope) run(ctx context.Context, kind kind, fn func(context.Context) error, o *taskOptions) (err error) {
	if goroutine.Exact {
		s.outer = goroutine.Current()
		defer s.outer.Restore()
	} else {
		defer pprof.SetGoroutineLabels(ctx)
	}
	if o != nil && o.maxTasks > 0 {
		s.places = &Semaphore{size: o.maxTasks}
	}
	s.open(ctx, kind, o)
	if s.parent() == nil {
		s.root.plant(&s.node)
		defer s.root.fell()
	}
	labelGoroutine(s.labels)
	return s.call(fn, o)
}

// call runs fn and closes the scope. A snapshot knows where on a stack a scope begins by the name of this function.
//
//go:noinline
func (s *scope) call(fn func(context.Context) error, o *taskOptions) (err error) {
	err = errUnreturned
	defer func() {
		if err == errUnreturned {
			err = newPanic(recover())
		}
		err = s.close(err)
	}()
	s.tellStart()
	if o != nil && o.retry != nil {
		return o.retry.run(&s.node, fn)
	}
	return fn(&s.node)
}

// close ends a scope and returns its error.
func (n *node) close(err error) error {
	outcome := n.judge(err)
	if p, ok := err.(*panicked); ok {
		err = p.PanicError
	}
	if outcome != succeeded {
		err = n.explain(err)
	}
	if outcome == failed {
		n.fails(err, n)
		n.cancel(&cancellation{err: context.Canceled, cause: err, from: n})
	}
	n.join()
	err = n.sum(err, outcome)
	return joinFailures(err, n.leave(err))
}

// sum puts together what a scope returns.
func (n *node) sum(err error, outcome outcome) error {
	var f failures
	if r := n.rare; r != nil {
		f = r.failed.failures
		f.errs = slices.Clip(f.errs)
		for _, k := range r.unwaited {
			if !k.is(isObserved) {
				f.add(k.error())
			}
		}
		n.mu.Lock()
		f.more += r.lost
		n.mu.Unlock()
	}
	none := len(f.errs) == 0 && f.more == 0
	switch {
	case none && err != nil:
		return err
	case none && n.is(isCut):
		return n.canceled.Load().error()
	case len(f.errs) > 0 && outcome != failed && saysMore(err, f.errs[0]):
		f.errs = slices.Clone(f.errs)
		f.errs[0] = err
	}
	return f.join()
}

// saysMore reports whether err passes the failure on with words of its own, as opposed to telling of the cancellation
// that the failure led to.
func saysMore(err, failure error) bool {
	return carries(err, failure) && (!claims(err, context.Canceled) || claims(failure, context.Canceled))
}

// startGrace lets the cancellation c reach a shielded scope when its grace is over.
func (n *node) startGrace(c *cancellation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.is(isFinished) || n.canceled.Load() != nil {
		return
	}
	r := n.moreLocked()
	if r.shielded {
		return
	}
	r.shielded = true
	end := time.Now().Add(r.grace)
	if n.is(isTimed) && r.deadline.Before(end) {
		return // the scope's own timeout comes first
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.deadline = end
	n.flags.Or(isTimed)
	r.timer = time.AfterFunc(r.grace, func() {
		n.cancel(&cancellation{err: c.err, cause: c.cause, from: c.from})
	})
}
