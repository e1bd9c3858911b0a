package meanwhile

import (
	"cmp"
	"context"
	"iter"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// From makes a stream from any sequence, such as slices.Values(list) or maps.Keys(m).
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

// Receive makes a stream of the values received from ch until ch is closed. When ctx is canceled, the last thing yielded is
// its error with its cause. Leaving the loop over a [Map] or [Batch] of it ends the wait for ch.
//
//go:noinline
func Receive[T any](ctx context.Context, ch <-chan T) Stream[T] {
	return func(yield func(T, error) bool) { receive(ctx, ch, yield) }
}

// receive is what the tree knows the wait for a channel by.
func receive[T any](ctx context.Context, ch <-chan T, yield func(T, error) bool) {
	left := leftBy(yield)
	for {
		if err := scope.CtxError(ctx); err != nil {
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

// Generate makes a stream of the values that fn yields. It ends when fn returns; an error of fn is the last thing yielded.
//
// yield returns false when no more values are wanted. The ctx that fn gets is then canceled. It is also canceled while fn waits
// for something else, when the loop over a [Map] or [Batch] of the stream is left; so fn can pass it to everything that it
// waits for. When the ctx given to Generate is canceled, the last thing yielded is its error with its cause. What fn returns
// after the loop was left is dropped.
//
//go:noinline
func Generate[T any](ctx context.Context, fn func(ctx context.Context, yield func(T) bool) error) Stream[T] {
	return func(yield func(T, error) bool) {
		inner, end := endingWith(ctx, yield)
		defer end()
		more := true
		err := fn(inner, func(value T) bool {
			if more && !yield(value, nil) {
				more = false
				end()
			}
			return more
		})
		if canceled := ctx.Err(); canceled != nil && (err == nil || scope.Claims(err, canceled)) {
			err = scope.WithCause(cmp.Or(err, canceled), context.Cause(ctx))
		}
		if err != nil && more {
			var none T
			yield(none, err)
		}
	}
}
