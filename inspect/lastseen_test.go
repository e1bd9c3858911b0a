package inspect_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

// A task that continues between two snapshots is not shown as one that stays in its wait, although it is at the same line in both.
func TestWaitsThatAreNotTheSame(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		_ = Run(t.Context(), func(ctx context.Context) error {
			items, never := make(chan int), make(chan int)
			s := NewSemaphore(1)
			if err := s.Acquire(ctx, 1); err != nil {
				return err
			}
			quiet := func(name string, f func(ctx context.Context)) {
				Go(ctx, func(ctx context.Context) error { f(ctx); return nil }, Name(name), InBackground())
			}
			quiet("busy", func(context.Context) {
				for range items { // items is their number
				}
			})
			quiet("stuck", func(ctx context.Context) {
				select {
				case <-never:
				case <-ctx.Done():
				}
			})
			quiet("sleeps again and again", func(ctx context.Context) {
				for Sleep(ctx, 100*time.Millisecond) == nil {
				}
			})
			quiet("sleeps long", func(ctx context.Context) { _ = Sleep(ctx, time.Hour) })
			quiet("acquires", func(ctx context.Context) { _ = s.Acquire(ctx, 1) })
			quiet("runs", func(ctx context.Context) {
				_ = Run(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) })
			})
			quiet("runs again and again", func(ctx context.Context) {
				for ctx.Err() == nil {
					_ = Run(ctx, func(ctx context.Context) error { return Sleep(ctx, 100*time.Millisecond) })
				}
			})
			var tree Node
			for range 5 {
				synctest.Wait()
				tree = Tree(ctx)
				for i := range 1000 {
					items <- i
				}
				time.Sleep(time.Second)
			}
			want := map[string]struct {
				seen      time.Duration
				snapshots int
			}{
				"busy": {0, 5}, "stuck": {0, 5}, "sleeps long": {4 * time.Second, 5}, "sleeps again and again": {0, 1},
				"acquires": {4 * time.Second, 5}, "runs": {4 * time.Second, 5}, "runs again and again": {0, 1},
			}
			for _, n := range tree.Tasks {
				w := want[n.Name]
				if n.Wait.Seen != w.seen || n.Wait.Snapshots != w.snapshots {
					t.Errorf("%s: seen for %v in %d snapshots, want %v in %d: %v", n.Name, n.Wait.Seen, n.Wait.Snapshots, w.seen, w.snapshots, n.Wait)
				}
			}
			close(items)
			return nil
		})
	})
}
