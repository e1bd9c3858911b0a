package tasklog

import (
	"context"
	"log/slog"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Attrs returns the attributes of the task that ctx belongs to: those of the option [meanwhile.Attrs] of the tasks above it,
// from the root of the tree on, and its own. It is empty when ctx carries no task. It costs a few nanoseconds, and tasks
// with the same attributes share a slice: do not modify it.
func Attrs(ctx context.Context) []slog.Attr {
	n := scope.From(ctx)
	if n == nil {
		return nil
	}
	return n.Attributes()
}

// AppendPath appends to b the path of the task that ctx belongs to, as errors and trees show it, and returns the extended
// slice; it returns b itself when ctx carries no task. If b has the capacity, nothing is allocated.
func AppendPath(ctx context.Context, b []byte) []byte {
	n := scope.From(ctx)
	if n == nil {
		return b
	}
	return n.AppendPath(b)
}
