package tasklog_test

import . "github.com/meanwhile-go/meanwhile"

type contextKey struct{}

// count returns a source of the numbers below n.
func count(n int) Stream[int] {
	return From(func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	})
}
