package meanwhile_test

import (
	"context"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

// Everything that has ended is released, whatever it was: a scope that lives on does not grow.
func TestEndedTasksAreForgotten(t *testing.T) {
	kinds := map[string]func(ctx context.Context) error{
		"task":   func(ctx context.Context) error { _, err := Go(ctx, fails(nil)).Wait(ctx); return err },
		"run":    func(ctx context.Context) error { return Run(ctx, fails(nil)) },
		"shield": func(ctx context.Context) error { return Shield(ctx, time.Hour, fails(nil)) },
		"map":    func(ctx context.Context) error { _, err := Collect(Map(ctx, upTo(2), same)); return err },
		"batch":  func(ctx context.Context) error { _, err := Collect(Batch(ctx, upTo(2), 2, 0)); return err },
	}
	for name, do := range kinds {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }, InBackground())
				for range 1000 {
					if err := do(ctx); err != nil {
						return err
					}
				}
				if n := Listed(ctx); n > 50 {
					t.Errorf("%d in the list after 1,000 have ended", n)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
