package meanwhile

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Listed returns how many tasks the list of ctx's task holds, including ended ones.
func Listed(ctx context.Context) int {
	return scope.From(ctx).Listed()
}

// Pullers returns how many yield functions are registered.
func Pullers() (count int) {
	pullers.Range(func(any, any) bool {
		count++
		return true
	})
	return count
}

// WithCause adds a cause to the error of a cancellation.
func WithCause(err, cause error) error { return scope.WithCause(err, cause) }
