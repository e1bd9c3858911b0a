package meanwhile

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Task is a function that runs in a tree of tasks. [Go] and [Async] start one and return it as a handle; a zero Task never
// ends. Its methods may be called concurrently.
type Task[T any] struct {
	value T // before n: a value of size zero at the end of the struct would cost a word
	n     scope.Node
}

// Go starts fn as a task of the scope that ctx belongs to, and returns immediately. The task's scope waits for it, so the
// handle may be dropped. When fn fails or panics, the scope is canceled with that failure as its cause; below [Supervise]
// the task fails alone.
//
// The task is a scope too: fn may start tasks with the ctx that it receives, the task ends when they have ended, and the
// first of them to fail fails it. That ctx is canceled when the task ends. A task costs a goroutine and one object; ctx may
// be derived from the scope's ctx with the context package.
//
// Go waits only if the scope has reached its limit ([MaxTasks]). It panics when ctx carries no scope, or one that has ended.
// It may be called concurrently.
func Go(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) *Task[struct{}] {
	t := new(goTask)
	var o *taskOptions
	if len(opts) > 0 {
		o = new(taskOptions).read(opts)
		if p := o.retry; p != nil {
			once := fn
			fn = func(ctx context.Context) error { return p.run(scope.From(ctx), once) }
		}
	}
	err := openTask(ctx, &t.n, "Go", o)
	if err != nil {
		fn = func(context.Context) error { return err }
	}
	// The goroutine starts with a function without arguments: for one with arguments the compiler adds a wrapper below it,
	// which each snapshot would have to walk through. The closure has a copy of run, which is not assigned to again.
	run := fn
	go func() {
		t.n.Enter()
		t.n.End(t.call(run))
	}()
	if err != nil {
		t.n.Await(context.Background())
	}
	return &t.Task
}

// Async is Go for a function with a result, which [Task.Wait] returns.
func Async[T any](ctx context.Context, fn func(ctx context.Context) (T, error), opts ...TaskOption) *Task[T] {
	t := new(asyncTask[T])
	var o *taskOptions
	if len(opts) > 0 {
		o = new(taskOptions).read(opts)
		if p := o.retry; p != nil {
			once := fn
			fn = func(ctx context.Context) (value T, err error) {
				err = p.run(scope.From(ctx), func(ctx context.Context) error {
					value, err = once(ctx)
					return err
				})
				return value, err
			}
		}
	}
	err := openTask(ctx, &t.n, "Async", o)
	if err != nil {
		fn = func(context.Context) (none T, _ error) { return none, err }
	}
	run := fn // as in Go
	go func() {
		t.n.Enter()
		t.n.End(t.call(run))
	}()
	if err != nil {
		t.n.Await(context.Background())
	}
	return &t.Task
}

// openTask opens a task. If it returns an error, the task must end with that error instead of calling its function: its
// scope has a limit, and ctx was canceled before there was a place for the task.
func openTask(ctx context.Context, n *scope.Node, caller string, o *taskOptions) (err error) {
	above := scope.From(ctx)
	if above == nil {
		panic("meanwhile: " + caller + " outside a scope: pass the ctx that Run, Supervise or a task gave to its function")
	}
	if o != nil && o.maxTasks > 0 {
		panic("meanwhile: MaxTasks given to " + caller + ", which starts one task: give it to the Run or Supervise whose tasks it limits")
	}
	if places := above.Places(); places != nil {
		err = awaitPlace(ctx, n, places)
	}
	n.Open(ctx, scope.KindTask, o.ofTask())
	return err
}

// A goTask is a task that Go starts; an asyncTask is one that Async starts. They have no pointer to their function: a handle
// must not keep alive what the function refers to.
type goTask struct{ Task[struct{}] }

// call runs the function. A snapshot recognizes the goroutine of a task by the name of this function, which is called with
// the task's labels in place.
//
//go:noinline
func (t *goTask) call(fn func(context.Context) error) (err error) {
	err = scope.ErrUnreturned
	defer func() {
		if err == scope.ErrUnreturned {
			err = t.n.Unreturned(recover())
		}
	}()
	t.n.TellStart()
	err = fn(&t.n)
	return err
}

type asyncTask[T any] struct{ Task[T] }

//go:noinline
func (t *asyncTask[T]) call(fn func(context.Context) (T, error)) (err error) {
	err = scope.ErrUnreturned
	defer func() {
		if err == scope.ErrUnreturned {
			err = t.n.Unreturned(recover())
		}
	}()
	t.n.TellStart()
	t.value, err = fn(&t.n)
	return err
}

// Wait returns what the task returned once it and everything below it has ended. The error of a failed task is a
// [*TaskError]; below [Supervise] the failure then counts as handled. When ctx, which is that of the caller, is canceled
// first, Wait returns ctx's error with its cause, and the task keeps running.
//
// It panics when ctx shows that the task waits for itself or for a task it is part of, a wait that would never end.
func (t *Task[T]) Wait(ctx context.Context) (T, error) {
	if !t.n.Is(scope.IsFinished) {
		t.n.ForbidCycle(scope.From(ctx))
		t.n.Await(ctx)
		if !t.n.Is(scope.IsFinished) {
			var none T
			return none, scope.CtxError(ctx)
		}
	}
	err := t.n.Failure()
	if err != nil {
		t.n.Observed()
	}
	return t.value, err
}

// Done returns a channel that is closed when the task and everything below it has ended.
func (t *Task[T]) Done() <-chan struct{} {
	return t.n.Ended()
}

// Cancel cancels the task and everything below it; it does not wait for their end. The cause is what context.Cause returns for
// their contexts; nil stands for a general cause. A task that returns the error of its own cancellation does not fail its
// scope. Canceling an ended task does nothing.
func (t *Task[T]) Cancel(cause error) {
	t.n.CancelBecause(cause)
}
