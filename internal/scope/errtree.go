package scope

import (
	"context"
	"reflect"
)

// maxErrorTree is the largest number of errors of one tree that are visited. A tree that has more, has a cycle, or has a method that
// panics counts as a failure.
const maxErrorTree = 10_000

// WalkErrors calls visit for err and for each error that it wraps, and does not go below one for which visit returns true. It returns
// false when there are too many errors, or when one of their methods panics, which must not end the process. The methods are code of the
// program, so the caller must not hold a lock.
func WalkErrors(err error, visit func(err error, leaf bool) (known bool)) (complete bool) {
	defer func() {
		if r := recover(); r != nil {
			complete = false
		}
	}()
	left := maxErrorTree
	return walkBelow(err, &left, visit)
}

func walkBelow(err error, left *int, visit func(error, bool) bool) bool {
	for err != nil {
		if *left--; *left < 0 {
			return false
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			below := e.Unwrap()
			if visit(err, below == nil) {
				return true
			}
			err = below
		case interface{ Unwrap() []error }:
			below := e.Unwrap()
			if visit(err, len(below) == 0) {
				return true
			}
			for _, b := range below {
				if !walkBelow(b, left, visit) {
					return false
				}
			}
			return true
		default:
			visit(err, true)
			return true
		}
	}
	return true
}

// SameError reports whether two errors are the same one. Unlike ==, it does not panic for errors that cannot be compared; such an error
// is not the same as any, not even as itself.
func SameError(a, b error) bool {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	return reflect.ValueOf(a).Comparable() && a == b
}

// carries reports whether target is err or one that it wraps.
func carries(err, target error) bool {
	found := false
	WalkErrors(err, func(e error, _ bool) bool {
		found = found || SameError(e, target)
		return found
	})
	return found
}

// isOrClaims reports whether err is target, or says so by a method Is.
func isOrClaims(err, target error) bool {
	if SameError(err, target) {
		return true
	}
	is, ok := err.(interface{ Is(error) bool })
	return ok && is.Is(target)
}

// As is errors.AsType for errors that may wrap each other in a cycle, for which errors.AsType never returns.
func As[T any](err error) (match T, ok bool) {
	WalkErrors(err, func(e error, _ bool) bool {
		if ok {
			return true
		}
		if match, ok = e.(T); !ok {
			as, has := e.(interface{ As(any) bool })
			ok = has && as.As(&match)
		}
		return ok
	})
	return match, ok
}

// Claims is errors.Is for errors that may not be comparable, or may wrap each other in a cycle.
func Claims(err, target error) bool {
	found := false
	WalkErrors(err, func(e error, _ bool) bool {
		found = found || isOrClaims(e, target)
		return found
	})
	return found
}

// isCanceled reports whether err is, or wraps, the error of a canceled ctx.
func isCanceled(err error) bool {
	return Claims(err, context.Canceled) || Claims(err, context.DeadlineExceeded)
}

// Stops reports whether err is stop, or wraps it and nothing else but the cancellation of ctx: an error that is joined with it is not lost.
func Stops(ctx context.Context, err, stop error) bool {
	found, other := false, false
	canceled := ctx.Err()
	complete := WalkErrors(err, func(e error, leaf bool) bool {
		switch {
		case isOrClaims(e, stop):
			found = true
			return true
		case canceled != nil && (isOrClaims(e, canceled) || SameError(e, context.Cause(ctx))):
			return leaf
		}
		other = other || leaf
		return other
	})
	return complete && found && !other
}
