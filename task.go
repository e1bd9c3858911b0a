package meanwhile

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// Void is the result of a task that has none.
type Void = struct{}

// A Task is a function running in the tree, with a parent and an end. [Go] and [Async] start one. Its methods may be
// called by many goroutines at once.
type Task[T any] struct {
	value T // ahead of n: behind it a value of no size would cost a word
	n     node
}

// Go starts fn as a task of the scope that ctx belongs to, and returns at once. The task's scope waits for it, so the
// handle may be dropped. When fn fails or panics, the scope is canceled with that failure as its cause; below
// [Supervise] the task fails alone.
//
// The task is a scope too: fn may start tasks with the ctx it is given, the task ends when they have ended, and the
// first of them to fail fails it. That ctx is canceled when the task ends. The cost is that of a goroutine and one
// object; ctx may be one derived from the scope's by the context package.
//
// Go waits only where the scope has a limit ([MaxTasks]) that is reached. It panics when ctx carries no scope, or one that
// has ended. It may be called by many goroutines at once.
func Go(ctx context.Context, fn func(ctx context.Context) error, opts ...TaskOption) *Task[Void] {
	t := &goTask{fn: fn}
	var o *taskOptions
	if len(opts) > 0 {
		o = new(taskOptions).read(opts)
		if p := o.retry; p != nil {
			t.fn = func(ctx context.Context) error { return p.run(from(ctx), fn) }
		}
	}
	err := t.n.begin(ctx, "Go", o)
	if err != nil {
		t.fn = func(context.Context) error { return err }
	}
	go t.start()
	if err != nil {
		t.n.await(context.Background())
	}
	return &t.Task
}

// Async is Go for a function with a result, which [Task.Wait] returns.
func Async[T any](ctx context.Context, fn func(ctx context.Context) (T, error), opts ...TaskOption) *Task[T] {
	t := &asyncTask[T]{fn: fn}
	var o *taskOptions
	if len(opts) > 0 {
		o = new(taskOptions).read(opts)
		if p := o.retry; p != nil {
			t.fn = func(ctx context.Context) (value T, err error) {
				err = p.run(from(ctx), func(ctx context.Context) error {
					value, err = fn(ctx)
					return err
				})
				return value, err
			}
		}
	}
	err := t.n.begin(ctx, "Async", o)
	if err != nil {
		t.fn = func(context.Context) (none T, _ error) { return none, err }
	}
	go t.start()
	if err != nil {
		t.n.await(context.Background())
	}
	return &t.Task
}

// begin opens a task. An error is what the task is to end with instead of calling its function: its scope has a limit, and ctx
// was canceled before there was a place for the task.
func (n *node) begin(ctx context.Context, caller string, o *taskOptions) (err error) {
	scope := from(ctx)
	if scope == nil {
		panic("meanwhile: " + caller + " outside a scope: pass the ctx that Run, Supervise or a task gave to its function")
	}
	if o != nil && o.maxTasks > 0 {
		panic("meanwhile: MaxTasks given to " + caller + ", which starts one task: give it to the Run or Supervise whose tasks it limits")
	}
	if places := scope.places(); places != nil {
		err = n.awaitPlace(ctx, places)
	}
	n.open(ctx, kindTask, o)
	return err
}

// enter is called first in the goroutine of a task.
func (n *node) enter() {
	labelGoroutine(n.labels)
	n.flags.Or(isStarted)
}

// end ends a task after its function, on a stack that is shallow again: more would make it grow. A snapshot knows the
// goroutine of a task that waits for those below it by the name of this function.
//
//go:noinline
func (n *node) end(err error) { n.finish(err) }

// A goTask is a task with its function, as Go starts it; an asyncTask is one of Async.
type goTask struct {
	Task[Void]
	fn func(context.Context) error
}

// start is the goroutine of the task.
func (t *goTask) start() {
	t.n.enter()
	t.n.end(t.call())
}

// call runs the function. A snapshot knows the goroutine of a task by the name of this function, which is called with the
// task's labels in place.
//
//go:noinline
func (t *goTask) call() (err error) {
	err = errUnreturned
	defer func() {
		if err == errUnreturned {
			err = t.n.unreturned(recover())
		}
	}()
	t.n.tellStart()
	fn := t.fn
	t.fn = nil // the handle must not keep what fn holds
	err = fn(&t.n)
	return err
}

type asyncTask[T any] struct {
	Task[T]
	fn func(context.Context) (T, error)
}

func (t *asyncTask[T]) start() {
	t.n.enter()
	t.n.end(t.call())
}

//go:noinline
func (t *asyncTask[T]) call() (err error) {
	err = errUnreturned
	defer func() {
		if err == errUnreturned {
			err = t.n.unreturned(recover())
		}
	}()
	t.n.tellStart()
	fn := t.fn
	t.fn = nil
	t.value, err = fn(&t.n)
	return err
}

// Wait returns what the task returned once it and everything below it has ended. The error of a failed task is a
// [*TaskError]; below [Supervise] the failure then counts as handled. When ctx, the waiter's own, is canceled first, Wait
// returns ctx's error with its cause, and the task goes on.
//
// It panics when the task waits for itself or for a task it is part of, which would never return.
func (t *Task[T]) Wait(ctx context.Context) (T, error) {
	if !t.n.is(isFinished) {
		t.n.forbidCycle(from(ctx))
		t.n.await(ctx)
		if !t.n.is(isFinished) {
			var none T
			return none, ctxError(ctx)
		}
	}
	err := t.n.error()
	if err != nil {
		t.n.observed()
	}
	return t.value, err
}

func (n *node) forbidCycle(waiter *node) {
	for w := waiter; w != nil; w = w.parent() {
		if w == n {
			panic("meanwhile: " + waiter.String() + " waits for " + n.path() + ", which cannot end before it: " +
				"wait in the function that started the task, or pass the result on")
		}
	}
}

// Done returns a channel that is closed when the task and everything below it has ended.
func (t *Task[T]) Done() <-chan struct{} {
	n := &t.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.use()&isFinished != 0 {
		return closed
	}
	if n.ends != nil {
		if d, ok := n.ends.w.(*doneChannel); ok {
			return d.done
		}
	}
	d := &doneChannel{done: make(chan struct{})}
	d.after.n, d.after.w = n, d
	d.after.link(&n.ends)
	return d.done
}

// A doneChannel is closed at the end of a task.
type doneChannel struct {
	after after
	done  chan struct{}
}

func (d *doneChannel) wake() { close(d.done) }

// A joiner is a goroutine that waits for the end of a task.
type joiner struct {
	parker
	end after             // in the list of the task that it waits for
	set goroutine.Address // the goroutine's label set
}

func (*joiner) kind() waiterKind { return isJoiner }

// stillParked reports whether the joiner waits. It does not depend on the ctx, which may be no task's.
func (j *joiner) stillParked() bool { return j.end.linked() && !j.awake.Load() }

// await returns when n has ended, or ctx is canceled.
func (n *node) await(ctx context.Context) {
	j := &joiner{set: currentSet()}
	j.ready()
	if n.onEnd(&j.end, j) {
		j.park(ctx, j)
		if !n.is(isFinished) {
			j.end.stop()
		}
	}
}

// onEnd wakes w when n has ended. It reports false, and w is not woken, when it has already.
func (n *node) onEnd(a *after, w waker) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.use()&isFinished != 0 {
		return false
	}
	head := &n.ends
	if *head != nil {
		if _, ok := (*head).w.(*doneChannel); ok {
			head = &(*head).next
		}
	}
	a.n, a.w = n, w
	a.link(head)
	return true
}

// Cancel cancels the task and everything below it; it does not wait for their end. The cause is what context.Cause
// tells them; nil stands for a general one. A task that returns the error of its own cancellation does not fail its
// scope. Canceling an ended task does nothing.
func (t *Task[T]) Cancel(cause error) {
	if cause == nil {
		cause = errCanceled
	}
	t.n.cancel(&cancellation{err: context.Canceled, cause: cause, from: &t.n})
}
