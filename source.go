package meanwhile

import (
	"cmp"
	"context"
	"iter"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// From returns a stream of the values of any sequence, such as slices.Values(list) or maps.Keys(m).
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

// Receive returns a stream of the values received from ch until ch is closed. When ctx is canceled, the last thing yielded
// is its error with its cause. Leaving the loop over a [Map] or [Batch] of it ends the wait for ch.
//
//go:noinline
func Receive[T any](ctx context.Context, ch <-chan T) Stream[T] {
	return func(yield func(T, error) bool) { receive(ctx, ch, yield) }
}

// receive is the body of Receive. A snapshot recognizes the wait for a channel by the name of this function.
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
		case <-ctx.Done(): // reported at the top of the loop
		}
	}
}

// Generate returns a stream of the values that fn yields. It ends when fn returns; an error of fn is the last thing yielded.
//
// yield returns false when no more values are wanted. The ctx passed to fn is then canceled. It is also canceled when the
// loop over a [Map] or [Batch] of the stream is left while fn waits for something else; so fn can pass it to everything that
// it waits for. When the ctx passed to Generate is canceled, the last thing yielded is its error with its cause. What fn
// returns after the loop was left is dropped.
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
