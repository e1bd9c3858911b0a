package bench

import (
	"context"
	"runtime"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"golang.org/x/sync/semaphore"
)

// BenchmarkSemaphore acquires and releases a semaphore: one goroutine alone, and 32 goroutines for each processor that compete
// for four slots.
func BenchmarkSemaphore(b *testing.B) {
	const size = 4
	ctx := context.Background()
	ours := meanwhile.NewSemaphore(size)
	theirs := semaphore.NewWeighted(size)
	slots := make(chan struct{}, size)
	for _, s := range []struct {
		lib     string
		acquire func(context.Context) error
		release func()
	}{
		{"channel", func(ctx context.Context) error {
			select {
			case slots <- struct{}{}:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, func() { <-slots }},
		{"semaphore", func(ctx context.Context) error { return theirs.Acquire(ctx, 1) }, func() { theirs.Release(1) }},
		{"meanwhile", func(ctx context.Context) error { return ours.Acquire(ctx, 1) }, func() { ours.Release(1) }},
	} {
		b.Run("contended=no/lib="+s.lib, func(b *testing.B) {
			for b.Loop() {
				if err := s.acquire(ctx); err != nil {
					b.Fatal(err)
				}
				s.release()
			}
		})
		b.Run("contended=yes/lib="+s.lib, func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.acquire(ctx); err != nil {
						b.Error(err)
						return
					}
					runtime.Gosched() // otherwise the goroutines would never compete
					s.release()
				}
			})
		})
	}
}
