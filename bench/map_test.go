package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
)

//go:noinline
func double(_ context.Context, item int) (int, error) { return 2 * item, nil }

var (
	block     [1024]byte
	blockSum  = sha256.Sum256(block[:])
	errDigest = errors.New("a digest is wrong")
)

// digest is a small realistic piece of work, of about half a microsecond.
func digest(_ context.Context, item int) (int, error) {
	if sha256.Sum256(block[:]) != blockSum {
		return 0, errDigest
	}
	return 2 * item, nil
}

// BenchmarkMap maps 100,000 items, ordered and bounded. The function does almost nothing, so that the overhead of the library is
// measured, or computes a digest of 1 KiB.
func BenchmarkMap(b *testing.B) {
	const n = 100_000
	for _, work := range []struct {
		name   string
		fn     itemFunc
		limits []int
	}{
		{"trivial", double, []int{8, 64, 1000}},
		{"sha256", digest, []int{64}},
	} {
		for _, limit := range work.limits {
			for _, m := range mappers {
				b.Run(fmt.Sprintf("item=%s/limit=%d/lib=%s", work.name, limit, m.lib), func(b *testing.B) {
					run, done := m.open(limit)
					defer done()
					items := numbers(n)
					measure(b, n, "item", func() error {
						results, err := run(b.Context(), items, work.fn)
						if err != nil {
							return err
						}
						return inOrder(results, n)
					})
				})
			}
		}
	}
}
