package bench

import (
	"context"
	"fmt"
	"testing"
)

//go:noinline
func nothing(context.Context, int) error { return nil }

// BenchmarkSpawn opens a scope, starts n tasks that do nothing, and waits for them. With meanwhile, each task has a place in the
// tree and a ctx with its own cause. A scope has to watch a parent ctx that can be canceled: this adds to the cost of a scope
// with one task, and is negligible in one with a thousand.
func BenchmarkSpawn(b *testing.B) {
	cancelable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		n      int
		parent string
		ctx    context.Context
	}{
		{1, "background", context.Background()},
		{1, "cancelable", cancelable},
		{1000, "background", context.Background()},
	} {
		for _, s := range scopes {
			b.Run(fmt.Sprintf("n=%d/parent=%s/lib=%s", c.n, c.parent, s.lib), func(b *testing.B) {
				run, done := s.open(c.n)
				defer done()
				measure(b, c.n, "task", func() error { return run(c.ctx, c.n, nothing) })
			})
		}
	}
}
