package scope

import "reflect"

// maxErrorTree is how many errors of a tree are looked at. One that has more, or a circle, is taken for a failure.
const maxErrorTree = 10_000

// WalkErrors calls visit for err and for each error that it wraps, and does not go below one for which visit returns true.
// It returns false when there are too many. The methods it calls belong to the program, so no lock may be held.
func WalkErrors(err error, visit func(err error, leaf bool) (known bool)) bool {
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

// SameError reports whether two errors are one. Unlike ==, it does not panic for those that cannot be compared; they are
// the same as no other.
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

// claims is errors.Is for errors that may not be comparable.
func claims(err, target error) bool {
	found := false
	WalkErrors(err, func(e error, _ bool) bool {
		found = found || isOrClaims(e, target)
		return found
	})
	return found
}
