package inspect_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

func TestScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context) error { return Sleep(ctx, time.Hour) }
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, func(ctx context.Context) error {
				Go(ctx, wait)
				Go(ctx, func(ctx context.Context) error {
					Go(ctx, wait)
					return Supervise(ctx, func(ctx context.Context) error {
						for range 3 {
							Go(ctx, wait)
						}
						return nil
					}, Name("inner"))
				})
				return Run(ctx, wait)
			}, Name("census outer"))
		}()
		synctest.Wait()

		got := map[string]int{}
		for name, tasks := range Scopes() {
			got[name] += tasks
		}
		want := map[string]int{
			"census outer": 4, // itself, and three tasks, one below another
			"inner":        4,
			"run":          1,
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		total := 0
		for _, tree := range Trees() {
			total += countNodes(tree)
		}
		if total != 9 {
			t.Errorf("Trees has %d tasks, Scopes 9", total)
		}

		seen := 0
		for range Scopes() {
			if seen++; seen == 2 {
				break
			}
		}
		stop(nil)
		if err := <-ended; err == nil {
			t.Error("the outer scope returned nil, although it was canceled")
		}
		for name, tasks := range Scopes() {
			t.Errorf("%q has %d tasks after the end", name, tasks)
		}
	})
}

// TestScopesOfStreams checks that a stream's items count for the stream, and free places for items do not.
func TestScopesOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inputs := From(func(yield func(int) bool) { _ = yield(1) && yield(2) })
		ended := make(chan error, 1)
		go func() {
			ended <- Run(t.Context(), func(ctx context.Context) error {
				return Each(ctx, inputs, func(ctx context.Context, _ int) error { return Sleep(ctx, time.Minute) }, Limit(8))
			}, Name("census of a stream"))
		}()
		synctest.Wait()
		sum := 0
		for _, tasks := range Scopes() {
			sum += tasks
		}
		total := 0
		for _, tree := range Trees() {
			total += countNodes(tree)
		}
		if sum != total || sum < 4 {
			t.Errorf("Scopes counts %d tasks, Trees %d: want the same, at least the scope, the stream and two items", sum, total)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func countNodes(n Node) int {
	total := 1
	for _, t := range n.Tasks {
		total += countNodes(t)
	}
	return total
}
