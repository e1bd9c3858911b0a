package scope_test

import (
	"context"
	"errors"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A source that ends because of a cancellation which has not reached the stream yet does not make the stream look complete.
func TestStreamThatEndsBeforeItsCancellation(t *testing.T) {
	stopped := errors.New("stopped")
	id := func(_ context.Context, v int) (int, error) { return v, nil }
	for name, loop := range map[string]func(context.Context, meanwhile.Stream[int]) error{
		"Map": func(ctx context.Context, in meanwhile.Stream[int]) (err error) {
			for _, err = range meanwhile.Map(ctx, in, id) {
			}
			return err
		},
		"Each": func(ctx context.Context, in meanwhile.Stream[int]) error {
			return meanwhile.Each(ctx, in, func(context.Context, int) error { return nil })
		},
		"Batch": func(ctx context.Context, in meanwhile.Stream[int]) (err error) {
			for _, err = range meanwhile.Batch(ctx, in, 10, 0) {
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			_ = meanwhile.Run(context.Background(), func(ctx context.Context) error {
				err := loop(ctx, func(yield func(int, error) bool) {
					if yield(1, nil) {
						scope.From(ctx).CancelAlone(stopped)
					}
				})
				if !errors.Is(err, context.Canceled) || !errors.Is(err, stopped) {
					t.Errorf("the stream ended with %v, want the cancellation and its cause", err)
				}
				return nil
			})
		})
	}
}

// A function that has failed because of a cancellation is not tried again, also if the cancellation has not reached its task yet.
func TestRetryBeforeTheCancellationArrives(t *testing.T) {
	stopped := errors.New("stopped")
	attempts := 0
	_ = meanwhile.Run(context.Background(), func(outer context.Context) error {
		_, _ = meanwhile.Go(outer, func(context.Context) error {
			if attempts++; attempts == 1 {
				scope.From(outer).CancelAlone(stopped)
			}
			return outer.Err()
		}, meanwhile.Retry(retry.Policy{Attempts: 5, Base: 1})).Wait(context.Background())
		return nil
	})
	if attempts != 1 {
		t.Errorf("the function was called %d times, want once", attempts)
	}
}
