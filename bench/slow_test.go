package bench

import (
	"context"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// BenchmarkSlow maps 4,000 items that wait for 1 ms, but every 100th for 20 ms, 64 at once. An ordered stream has to continue
// behind a slow item. The ideal is the sum of the waits over 64.
func BenchmarkSlow(b *testing.B) {
	const (
		n, limit   = 4000, 64
		fast, slow = time.Millisecond, 20 * time.Millisecond
		ideal      = (n*fast + n/100*(slow-fast)) / limit
	)
	unordered := mapper{
		"meanwhile-unordered",
		func(limit int) (mapFunc, func()) { return openMapWith(meanwhile.Limit(limit), meanwhile.Unordered()) },
		meanwhile.Sleep, false,
	}
	for _, m := range append([]mapper{unordered}, mappers...) {
		if m.unbounded {
			continue
		}
		b.Run("lib="+m.lib, func(b *testing.B) {
			run, done := m.open(limit)
			defer done()
			items := numbers(n)
			measureWait(b, ideal, func() error {
				results, err := run(b.Context(), items, func(ctx context.Context, item int) (int, error) {
					d := fast
					if item%100 == 0 {
						d = slow
					}
					return 2 * item, m.sleep(ctx, d)
				})
				if err != nil || m.lib == unordered.lib {
					return err
				}
				return inOrder(results, n)
			})
		})
	}
}
