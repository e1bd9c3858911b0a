package bench

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"

	"github.com/meanwhile-go/meanwhile"
)

// BenchmarkChurn starts and ends ten million tasks below a watch that takes snapshots all the time, and reports the memory that
// the program holds after the first million and after the last. It fails if that has grown by more than 8 MB: a watch keeps no
// data of ended tasks. When each benchmark runs once, there are 200,000 tasks.
func BenchmarkChurn(b *testing.B) {
	tasks := 10_000_000
	if once() {
		tasks = 200_000
	}
	b.Run("lib=meanwhile", func(b *testing.B) {
		for b.Loop() {
			var first, last float64
			err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
				inspect.Watch(ctx, inspect.WatchConfig{
					Busy: 100 * time.Millisecond, GoroutineLeaked: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
				})
				for i := range 10 {
					if err := churn(ctx, tasks/10); err != nil {
						return err
					}
					if last = held(); i == 0 {
						first = last
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(first, "first-MB")
			b.ReportMetric(last, "last-MB")
			if last > first+8 {
				b.Errorf("the program held %.1f MB after a tenth of the tasks, and %.1f MB after all", first, last)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tasks), "ns/task")
		b.ReportMetric(0, "ns/op")
	})
}

// churn runs n tasks, a thousand at a time, each with a scope that has one task.
func churn(ctx context.Context, n int) error {
	for range n / 1000 {
		err := meanwhile.Run(ctx, func(ctx context.Context) error {
			for range 500 {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					meanwhile.Go(ctx, func(context.Context) error { return nil })
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// held returns the memory in use, in MB.
func held() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc+m.StackInuse) / 1e6
}
