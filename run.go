package meanwhile

import (
	"context"
	"errors"
	"time"
)

// Run opens a scope: it calls fn, waits for every task that was started in it, and returns. The first failure, of fn or
// of a task, cancels the others, with the failure as the cause of their contexts, and is returned once all have ended;
// failures that come after it are joined behind it. Errors by which a task only obeys a cancellation are left out. When
// ctx is canceled and work was cut short by it, Run returns ctx's error together with its cause.
//
// fn runs in the caller's goroutine. A panic in it is returned as a [*PanicError], like one in a task. Scopes nest: in a
// task, Run makes a scope whose failures the task can handle. The ctx given to fn is canceled when Run returns.
func Run(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) error {
	return runScope(ctx, kindRun, "Run", fn, opts)
}

// Supervise opens a scope whose tasks fail alone: the others go on. It returns the failure of fn, which cancels the
// tasks, joined with the failures of those tasks that nobody waited for by [Task.Wait]. At most 100 of them are kept, and
// the rest counted; Observe tells each at once.
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
	n, r := newScope(ctx)
	n.more().grace = grace
	return n.run(ctx, kindShield, fn, o, r)
}

func runScope(ctx context.Context, kind kind, caller string, fn func(context.Context) error, opts []TaskOption) error {
	n, r := newScope(ctx)
	if len(opts) == 0 {
		return n.run(ctx, kind, fn, nil, r)
	}
	return n.run(ctx, kind, fn, readScope(caller, opts), r)
}

// newScope makes the node of a scope, and its place among the roots if no task is above.
func newScope(ctx context.Context) (*node, *root) {
	if from(ctx) != nil {
		return new(node), nil
	}
	s := new(rootScope)
	return &s.node, &s.root
}

func readScope(caller string, opts []TaskOption) *taskOptions {
	o := new(taskOptions).read(opts)
	if o.background {
		panic("meanwhile: Background given to " + caller + ", which waits for its function: give it to Go, Async or After")
	}
	return o
}

func (n *node) run(ctx context.Context, kind kind, fn func(context.Context) error, o *taskOptions, r *root) (err error) {
	n.open(ctx, kind, o, nil)
	if r != nil {
		r.plant(n)
	}
	climb(func() { err = n.runOpen(fn, o, r) }, n.mark.id(), markDigits)
	return err
}

// runOpen runs a scope that is open, and closes it.
func (n *node) runOpen(fn func(context.Context) error, o *taskOptions, r *root) (err error) {
	err = errUnreturned
	defer func() {
		defer n.unlabelGoroutine()
		if r != nil {
			defer r.fell()
		}
		if err == errUnreturned {
			err = recovered(recover())
		}
		err = n.close(err)
	}()
	n.labelGoroutine()
	n.tellStart()
	if o != nil && o.retry != nil {
		return o.retry.run(n, fn)
	}
	return fn(n)
}

// close ends a scope and returns its error.
func (n *node) close(err error) error {
	verdict := n.judge(err)
	if verdict != success {
		err = n.explain(err)
	}
	if verdict == failure {
		n.mu.Lock()
		n.moreLocked().failed.add(err)
		n.mu.Unlock()
		n.cancel(&cancellation{err: context.Canceled, cause: err, from: n})
	}
	n.join()
	err = n.sum(err, verdict)
	return joinFailures(err, n.leave(err))
}

// sum puts together what a scope returns.
func (n *node) sum(err error, v verdict) error {
	var f failures
	if r := n.rare; r != nil {
		f = r.failed
		for _, k := range r.unwaited {
			if !k.is(isObserved) {
				f.add(k.outcome())
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
	case len(f.errs) > 0 && v != failure && saysMore(err, f.errs[0]):
		f.errs[0] = err
	}
	return f.join()
}

// saysMore reports whether err passes the failure on with words of its own, as opposed to telling of the cancellation
// that the failure led to.
func saysMore(err, failure error) bool {
	return errors.Is(err, failure) && (!errors.Is(err, context.Canceled) || errors.Is(failure, context.Canceled))
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
