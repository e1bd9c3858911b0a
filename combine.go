package meanwhile

import (
	"context"
	"errors"
	"sync"
)

// All runs the functions at once and returns their results in the functions' order. The first failure cancels the
// others and is returned when they have ended, as by [Run]; the results are then nil.
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

// Any runs the functions at once and returns the first result; the other functions are canceled and waited for. What they
// end with is dropped, but for a panic, which is returned as an error beside the result. When all fail it returns their
// failures, joined.
func Any[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) (T, error) {
	return first(ctx, "any", Supervise, fns)
}

// Race runs the functions at once and returns the result or the failure of the first that ends; the other functions are
// canceled and waited for. After a result, what they end with is dropped, but for a panic, which is returned as an error
// beside the result.
func Race[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) (T, error) {
	return first(ctx, "race", Run, fns)
}

type scopeFunc = func(context.Context, func(context.Context) error, ...TaskOption) error

func first[T any](ctx context.Context, name string, open scopeFunc, fns []func(context.Context) (T, error)) (T, error) {
	var (
		once   sync.Once
		won    bool
		result T
	)
	if len(fns) == 0 {
		return result, errors.New("meanwhile: " + name + " of no functions has no result")
	}
	err := open(ctx, func(ctx context.Context) error {
		scope := from(ctx)
		for _, fn := range fns {
			Go(ctx, func(ctx context.Context) error {
				value, err := fn(ctx)
				if err == nil {
					once.Do(func() {
						if len(scope.recorded()) > 0 {
							return // in a race, a failure came first
						}
						won, result = true, value
						scope.cancel(&cancellation{err: context.Canceled, cause: errLost, from: scope})
					})
				}
				return err
			})
		}
		return nil
	}, Name(name))
	if won {
		return result, panicsOf(err)
	}
	return result, err
}

// panicsOf returns those of the joined failures that are panics, joined.
func panicsOf(err error) error {
	var panics failures
	walkErrors(err, func(e error, _ bool) bool {
		if _, several := e.(*joined); several {
			return false
		}
		if findPanic(e) {
			panics.add(e)
		}
		return true
	})
	return panics.join()
}

func findPanic(err error) (found bool) {
	walkErrors(err, func(e error, _ bool) bool {
		_, ok := e.(*PanicError)
		found = found || ok
		return found
	})
	return found
}
