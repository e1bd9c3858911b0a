package meanwhile

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Blocking runs fn, a call that accepts no context and may block a thread, such as one to a C library, to a file on a slow
// disk or to an old driver. It returns what fn returns, or ctx's error with its cause as soon as ctx is canceled; fn is then
// abandoned: it keeps running in the background, counts as a running call until it returns, and its result is dropped. A
// panic in fn is returned as a [*PanicError]; a panic in an abandoned call fails the nearest scope above ctx's task that has
// not ended, or is logged if there is none.
//
// At most 100 such calls run concurrently in a process, so that they cannot exhaust its threads; further calls wait for
// their turn in order. SetMaxBlocking of package process changes the number. The tree shows each call below its task, with
// what it is doing, even when it is abandoned.
func Blocking[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	var none T
	if err := scope.BlockingSem.Acquire(ctx, 1); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	c := scope.NewBlockingCall(ctx)
	go func() {
		r := result{err: ErrGoexit}
		defer func() {
			if p := recover(); p != nil {
				r.err = scope.Recovered(p)
			}
			scope.BlockingSem.Release(1)
			done <- r
			if abandoned := c.End(); abandoned {
				if p, ok := r.err.(*PanicError); ok {
					c.Caller.FailLater(p)
				}
			}
		}()
		scope.LabelGoroutine(c.Labels)
		callBlocking(fn, &r.value, &r.err)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		if ended := c.Abandon(); ended {
			r := <-done
			return r.value, r.err
		}
		return none, scope.CtxError(ctx)
	}
}

// callBlocking runs fn. A snapshot recognizes the goroutine of a call by the name of this function.
//
//go:noinline
func callBlocking[T any](fn func() (T, error), value *T, err *error) { *value, *err = fn() }
