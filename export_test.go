package meanwhile

import (
	"context"
	"runtime/pprof"
)

// Listed is how many tasks the list of ctx's task holds, the ended ones included.
func Listed(ctx context.Context) int {
	n := from(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	listed := 0
	for k := n.family.first; k != nil; k = k.next {
		listed++
	}
	return listed
}

// Pullers is how many yield functions are registered.
func Pullers() (count int) {
	pullers.Range(func(any, any) bool {
		count++
		return true
	})
	return count
}

// LeaksIn reads another profile of goroutines as Leaks reads its own.
func LeaksIn(profile *pprof.Profile) ([]Leak, error) { return leaksIn(profile) }

// WithCause adds a cause to the error of a cancellation.
func WithCause(err, cause error) error { return withCause(err, cause) }
