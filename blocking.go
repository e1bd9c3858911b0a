package meanwhile

import "context"

// maxBlocking is how many calls of Blocking run at once in one process.
const maxBlocking = 100

var blocking = NewSemaphore(maxBlocking)

// Blocking runs fn, a call that knows no context and may hold a thread: a C library, a file on a slow disk, a driver of
// old. It returns what fn returns, or ctx's error with its cause as soon as ctx is canceled; fn is then abandoned: it goes
// on in the background, keeps its place until it returns, and its result is dropped. A panic in fn is returned as a
// [*PanicError].
//
// At most 100 such calls run at once in a process, so that they cannot exhaust its threads; the others wait their turn, in
// order.
func Blocking[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	var none T
	if err := blocking.Acquire(ctx, 1); err != nil {
		return none, err
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGoexit}
		defer func() {
			if r := recover(); r != nil {
				o.err = recovered(r)
			}
			blocking.Release(1)
			done <- o
		}()
		o.value, o.err = fn()
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, ctxError(ctx)
	}
}
