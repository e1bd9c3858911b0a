package bench

import (
	"context"
	"testing"
)

// BenchmarkSmall maps five numbers: too little work to be worth a single task. It shows the cost of using Map nevertheless. The
// unit is the whole map.
func BenchmarkSmall(b *testing.B) {
	const n = 5
	loop := mapper{lib: "loop", open: func(int) (mapFunc, func()) {
		return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
			out := make([]int, len(items))
			for i, item := range items {
				var err error
				if out[i], err = fn(ctx, item); err != nil {
					return nil, err
				}
			}
			return out, nil
		}, nothingOpen
	}}
	for _, m := range append([]mapper{loop}, mappers...) {
		b.Run("lib="+m.lib, func(b *testing.B) {
			run, done := m.open(64)
			defer done()
			items := numbers(n)
			measure(b, 1, "map", func() error {
				results, err := run(b.Context(), items, double)
				if err != nil {
					return err
				}
				return inOrder(results, n)
			})
		})
	}
}
