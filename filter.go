package meanwhile

import "strconv"

// Filter yields the values of in for which keep returns true, and the errors of in. If the decision waits or can fail, make
// it in a [Map] before the Filter. keep runs in the same goroutine as in, one call at a time.
//
//go:noinline
func Filter[T any](in Stream[T], keep func(T) bool) Stream[T] {
	return func(yield func(T, error) bool) {
		pass(in, yield, func(value T, err error) bool {
			if err == nil && !keep(value) {
				return true
			}
			return yield(value, err)
		})
	}
}

// Take yields the first n values of in, and the errors among them, and pulls nothing more from in. It panics if n is
// negative.
//
//go:noinline
func Take[T any](in Stream[T], n int) Stream[T] {
	if n < 0 {
		panic("meanwhile: Take(" + strconv.Itoa(n) + "): give the number of values to take, or zero for none")
	}
	return func(yield func(T, error) bool) {
		left := n
		if left == 0 {
			return
		}
		pass(in, yield, func(value T, err error) bool {
			if err == nil {
				left--
			}
			return yield(value, err) && left > 0
		})
	}
}

// FlatMap yields the values of the streams that fn returns for the values of in, one stream after the other, and the errors
// of all of them. For example, it turns a stream of pages into a stream of their lines. fn runs in the same goroutine as in,
// one call at a time; put work that should run for several values concurrently into a [Map] before it.
//
//go:noinline
func FlatMap[In, Out any](in Stream[In], fn func(In) Stream[Out]) Stream[Out] {
	return func(yield func(Out, error) bool) {
		more := true
		each := func(value Out, err error) bool {
			more = yield(value, err)
			return more
		}
		if puller := pullerOf(yield); puller != nil {
			defer register(each, puller)()
		}
		pass(in, yield, func(value In, err error) bool {
			if err != nil {
				var none Out
				return yield(none, err)
			}
			fn(value)(each)
			return more
		})
	}
}
