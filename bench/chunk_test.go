package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// BenchmarkChunk maps 100,000 small items, ordered and 64 at once: in a loop, with a call for each item, for each 100 items that
// Batch collects, and for each 100 items that slices.Chunk takes from the source.
func BenchmarkChunk(b *testing.B) {
	const n, limit, chunk = 100_000, 64, 100
	for _, work := range []struct {
		name string
		fn   itemFunc
	}{{"trivial", double}, {"sha256", digest}} {
		each := func(ctx context.Context, items []int) ([]int, error) {
			results := make([]int, len(items))
			for i, item := range items {
				result, err := work.fn(ctx, item)
				if err != nil {
					return nil, err
				}
				results[i] = result
			}
			return results, nil
		}
		join := func(ctx context.Context, chunks meanwhile.Stream[[]int]) ([]int, error) {
			results := make([]int, 0, n)
			for part, err := range meanwhile.Map(ctx, chunks, each, meanwhile.Limit(limit)) {
				if err != nil {
					return nil, err
				}
				results = append(results, part...)
			}
			return results, nil
		}
		items := numbers(n)
		for _, way := range []struct {
			name string
			run  func(ctx context.Context) ([]int, error)
		}{
			{"loop", func(ctx context.Context) ([]int, error) { return each(ctx, items) }},
			{"item", func(ctx context.Context) ([]int, error) {
				return meanwhile.Collect(meanwhile.Map(ctx, meanwhile.From(slices.Values(items)), work.fn, meanwhile.Limit(limit)))
			}},
			{"batch", func(ctx context.Context) ([]int, error) {
				return join(ctx, meanwhile.Batch(ctx, meanwhile.From(slices.Values(items)), chunk, time.Second))
			}},
			{"chunk", func(ctx context.Context) ([]int, error) {
				return join(ctx, meanwhile.From(slices.Chunk(items, chunk)))
			}},
		} {
			b.Run("item="+work.name+"/way="+way.name, func(b *testing.B) {
				measure(b, n, "item", func() error {
					results, err := way.run(b.Context())
					if err != nil {
						return err
					}
					return inOrder(results, n)
				})
			})
		}
	}
}
