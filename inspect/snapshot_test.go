package inspect_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

// sleepers starts tasks that sleep, and returns when all of them do.
func sleepers(ctx context.Context, count int) {
	for range count {
		Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) }, InBackground())
	}
	for sleeping := 0; sleeping < count; {
		sleeping = 0
		for _, n := range Tree(ctx).Tasks {
			if n.Wait.For == "sleep" {
				sleeping++
			}
		}
	}
}

// The runtime allocates a stack for each task of a snapshot; everything else is allocated for many tasks together.
func TestSnapshotAllocations(t *testing.T) {
	testenv.NeedExact(t)
	const tasks = 1000
	_ = Run(t.Context(), func(ctx context.Context) error {
		sleepers(ctx, tasks)
		if got := testing.AllocsPerRun(10, func() { Tree(ctx) }) / tasks; got > 1.5 {
			t.Errorf("%.2f allocations for each task, want at most 1.5", got)
		}
		return nil
	})
}

// The result of a snapshot stays unchanged while later snapshots reuse its memory.
func TestSnapshotStays(t *testing.T) {
	_ = Run(t.Context(), func(ctx context.Context) error {
		sleepers(ctx, 300)
		first := Tree(ctx)
		paths := pathsOf(first)
		for range 3 {
			_ = Run(ctx, func(ctx context.Context) error {
				sleepers(ctx, 500)
				return nil
			})
		}
		if got := pathsOf(first); !slices.Equal(got, paths) {
			t.Error("the snapshot has changed")
		}
		return nil
	})
}

func pathsOf(n Node) []string {
	list := []string{n.Path + " " + n.Name + " " + n.State + " " + n.Wait.For}
	for _, k := range n.Tasks {
		list = append(list, pathsOf(k)...)
	}
	return list
}
