package meanwhile

import (
	"context"
	"iter"
)

// From makes a stream of any sequence, such as slices.Values(list) or maps.Keys(m).
//
//go:noinline
func From[T any](seq iter.Seq[T]) Stream[T] {
	return func(yield func(T, error) bool) {
		for value := range seq {
			if !yield(value, nil) {
				return
			}
		}
	}
}

// Receive makes a stream of what comes from ch, up to the close of ch. When ctx is canceled, the last thing yielded is
// its error with its cause. A [Map] or [Batch] over it that is left while it waits for ch ends the wait.
//
//go:noinline
func Receive[T any](ctx context.Context, ch <-chan T) Stream[T] {
	return func(yield func(T, error) bool) { receive(ctx, ch, yield) }
}

// receive is what the tree knows the wait for a channel by.
func receive[T any](ctx context.Context, ch <-chan T, yield func(T, error) bool) {
	var left <-chan struct{}
	if puller := pulledBy(yield); puller != nil {
		left = puller.Done()
	}
	for {
		if err := ctxError(ctx); err != nil {
			var none T
			yield(none, err)
			return
		}
		select {
		case value, ok := <-ch:
			if !ok || !yield(value, nil) {
				return
			}
		case <-left:
			return
		case <-ctx.Done(): // told above
		}
	}
}
