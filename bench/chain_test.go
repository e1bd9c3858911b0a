package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"golang.org/x/sync/errgroup"
)

// chains call themselves recursively to the given depth, each in a scope of its own; the innermost fails, and each returns the
// failure.
var chains = []struct {
	lib  string
	call func(ctx context.Context, depth int) error
}{
	{"errgroup-ctx", groupChain},
	{"meanwhile-run", runChain},
	{"meanwhile-task", taskChain},
	{"meanwhile-supervise", superviseChain},
}

func groupChain(ctx context.Context, depth int) error {
	if depth == 0 {
		return errBoom
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return groupChain(ctx, depth-1) })
	return g.Wait()
}

func runChain(ctx context.Context, depth int) error {
	if depth == 0 {
		return errBoom
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return runChain(ctx, depth-1) })
		return nil
	})
}

// taskChain has one scope, and each task starts the next and waits for it.
func taskChain(ctx context.Context, depth int) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error { return taskBelow(ctx, depth) })
}

func taskBelow(ctx context.Context, depth int) error {
	if depth == 0 {
		return errBoom
	}
	_, err := meanwhile.Go(ctx, func(ctx context.Context) error { return taskBelow(ctx, depth-1) }).Wait(ctx)
	return err
}

// superviseChain has scopes whose tasks fail alone.
func superviseChain(ctx context.Context, depth int) error {
	if depth == 0 {
		return errBoom
	}
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return superviseChain(ctx, depth-1) })
		return nil
	})
}

// BenchmarkFailingChain measures a failure that passes through many levels; the time per level should not grow with their number.
func BenchmarkFailingChain(b *testing.B) {
	for _, depth := range []int{10, 100, 1000, 10_000} {
		for _, c := range chains {
			b.Run(fmt.Sprintf("depth=%d/lib=%s", depth, c.lib), func(b *testing.B) {
				for b.Loop() {
					if err := c.call(b.Context(), depth); !errors.Is(err, errBoom) {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(depth), "ns/level")
			})
		}
	}
}
