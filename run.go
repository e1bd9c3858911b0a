package meanwhile

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Run opens a scope: it calls fn, waits for every task that was started in it, and returns. The first failure, of fn or
// of a task, cancels the others, with the failure as the cause of their contexts, and is returned once all have ended;
// later failures are joined after it. An error that only reports that a task was canceled is left out; a panic, and an error
// that is joined with another, are kept. When ctx is canceled and this has cut work short, Run returns ctx's
// error together with its cause.
//
// fn runs in the caller's goroutine. A panic in it is returned as a [*PanicError], like one in a task. Scopes nest: in a
// task, Run opens a scope whose failures the task can handle. The ctx passed to fn is canceled when Run returns.
//
// The deferred calls of fn run when fn returns, before the tasks that it started have ended. So release resources that the
// tasks use after Run has returned.
func Run(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) error {
	return runScope(ctx, scope.KindRun, "Run", fn, opts)
}

// Supervise opens a scope whose tasks fail alone: when one fails, the others keep running. It returns the failure of fn,
// which cancels the tasks, joined with the failures of the tasks that were not waited for with [Task.Wait]. At most 100 of
// these failures are kept, and the rest are counted; [Observe] reports each when it happens.
//
// Only the tasks that fn starts with its own ctx are independent; within each of them, the first failure cancels what is below
// that task, as usual.
func Supervise(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) error {
	return runScope(ctx, scope.KindSupervise, "Supervise", fn, opts)
}

// Shield runs fn in a scope that a cancellation of ctx reaches only after a delay of grace: use it to finish a write or to
// close a session cleanly. If ctx is already canceled, fn has the whole grace; a deadline of ctx counts as a cancellation
// when it passes. Shield returns what [Run] would return. It panics unless grace is positive.
func Shield(ctx context.Context, grace time.Duration, fn func(ctx context.Context) error, opts ...TaskOption) error {
	if grace <= 0 {
		panic("meanwhile: Shield with a grace of " + grace.String() + ": give a positive duration, or call the function itself for none")
	}
	o := readScope("Shield", opts)
	s := scope.NewScope()
	s.More().Grace = grace
	return runWith(ctx, s, scope.KindShield, fn, o)
}

func runScope(ctx context.Context, kind scope.Kind, caller string, fn func(context.Context) error, opts []TaskOption) error {
	if len(opts) == 0 {
		return scope.NewScope().Run(ctx, kind, fn, nil)
	}
	return runWith(ctx, scope.NewScope(), kind, fn, readScope(caller, opts))
}

// runWith runs fn in the scope s, as the options say.
func runWith(ctx context.Context, s *scope.Scope, kind scope.Kind, fn func(context.Context) error, o *taskOptions) error {
	if o.maxTasks > 0 {
		s.Limit = scope.NewSem(o.maxTasks)
	}
	if p := o.retry; p != nil {
		once := fn
		fn = func(ctx context.Context) error { return p.run(scope.From(ctx), once) }
	}
	return s.Run(ctx, kind, fn, &o.Settings)
}

func readScope(caller string, opts []TaskOption) *taskOptions {
	o := new(taskOptions).read(opts)
	if o.Background {
		panic("meanwhile: InBackground given to " + caller + ", which waits for its function: give it to Go or Async")
	}
	return o
}
