package inspect

import (
	"context"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// The memory of a snapshot is kept for the next one, but none of its tasks.
func TestRunnersKeepNoTask(t *testing.T) {
	_ = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for range 100 {
			meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.InBackground())
		}
		r := collectRunners([]*scope.Node{scope.From(ctx)}, false)
		if len(r.bySet) != 101 {
			t.Errorf("%d label sets of 101 tasks", len(r.bySet))
		}
		r.release()
		kept := len(r.bySet)
		for _, n := range r.lists.Below[:cap(r.lists.Below)] {
			if n != nil {
				kept++
			}
		}
		for _, w := range r.lists.Waiters[:cap(r.lists.Waiters)] {
			if w != nil {
				kept++
			}
		}
		for one := range r.blocks {
			for i := range r.blocks[one] {
				if r.blocks[one][i].n != nil {
					kept++
				}
			}
		}
		if kept > 0 {
			t.Errorf("%d tasks, label sets and waiters are kept", kept)
		}
		return nil
	})
}
