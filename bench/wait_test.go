package bench

import (
	"context"
	"testing"
	"time"
)

// BenchmarkWait1ms maps 10,000 items that wait for 1 ms each, 1,000 at once. The ideal is 10 ms.
func BenchmarkWait1ms(b *testing.B) {
	const n, limit, wait = 10_000, 1000, time.Millisecond
	for _, m := range mappers {
		if m.unbounded {
			continue
		}
		b.Run("lib="+m.lib, func(b *testing.B) {
			run, done := m.open(limit)
			defer done()
			items := numbers(n)
			measureWait(b, n/limit*wait, func() error {
				results, err := run(b.Context(), items, func(ctx context.Context, item int) (int, error) {
					return 2 * item, m.sleep(ctx, wait)
				})
				if err != nil {
					return err
				}
				return inOrder(results, n)
			})
		})
	}
}

// BenchmarkWait500ms starts 1,000 tasks that wait for 500 ms each.
func BenchmarkWait500ms(b *testing.B) {
	const n, wait = 1000, 500 * time.Millisecond
	for _, s := range scopes {
		b.Run("lib="+s.lib, func(b *testing.B) {
			run, done := s.open(n)
			defer done()
			measureWait(b, wait, func() error {
				return run(b.Context(), n, func(ctx context.Context, _ int) error { return s.sleep(ctx, wait) })
			})
		})
	}
}
