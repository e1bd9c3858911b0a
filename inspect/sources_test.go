package inspect_test

import (
	"context"

	. "github.com/meanwhile-go/meanwhile"
)

// upTo returns a source of the numbers below n.
func upTo(n int) Stream[int] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func same(_ context.Context, i int) (int, error) { return i, nil }

type contextKey struct{}

// mostBlocking is how many calls of Blocking run concurrently in a process, as its comment says.
const mostBlocking = 100
