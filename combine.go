package meanwhile

import (
	"context"
	"errors"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// All runs the functions concurrently and returns their results in the functions' order. The first failure cancels the
// others and is returned when they have ended, as with [Run]; the results are then nil.
func All[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) ([]T, error) {
	results := make([]T, len(fns))
	err := Run(ctx, func(ctx context.Context) error {
		for i, fn := range fns {
			Go(ctx, func(ctx context.Context) (err error) {
				results[i], err = fn(ctx)
				return err
			})
		}
		return nil
	}, Name("all"))
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Any runs the functions concurrently and returns the first result; the other functions are canceled and waited for. Their
// results and errors are dropped, except for a panic, which is returned as an error beside the result. When all fail, Any
// returns their failures, joined.
func Any[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) (T, error) {
	var (
		once   sync.Once
		won    bool
		result T
	)
	if len(fns) == 0 {
		return result, errors.New("meanwhile: any of no functions has no result")
	}
	err := Supervise(ctx, func(ctx context.Context) error {
		n := scope.From(ctx)
		for _, fn := range fns {
			Go(ctx, func(ctx context.Context) error {
				value, err := fn(ctx)
				if err == nil {
					once.Do(func() {
						won, result = true, value
						n.CancelBecause(scope.ErrLost)
					})
				}
				return err
			})
		}
		return nil
	}, Name("any"))
	if won {
		return result, panicsOf(err)
	}
	return result, err
}

// panicsOf returns the panics among the joined failures of err, joined.
func panicsOf(err error) error {
	var panics scope.Failures
	scope.WalkErrors(err, func(e error, _ bool) bool {
		if _, several := e.(*scope.Joined); several {
			return false
		}
		if findPanic(e) {
			panics.Add(e)
		}
		return true
	})
	return panics.Join()
}

func findPanic(err error) (found bool) {
	scope.WalkErrors(err, func(e error, _ bool) bool {
		_, ok := e.(*PanicError)
		found = found || ok
		return found
	})
	return found
}
