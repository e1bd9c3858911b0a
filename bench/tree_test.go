package bench

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"

	"github.com/meanwhile-go/meanwhile"
)

// A dump is a way to inspect what the goroutines of a process wait for.
type dump struct {
	lib string
	do  func(ctx context.Context) (size int)
}

var dumps = []dump{
	{"meanwhile", func(ctx context.Context) int { return len(inspect.Tree(ctx).Tasks) }},
	{"meanwhile-text", func(ctx context.Context) int { return len(inspect.Tree(ctx).String()) }},
	{"stack-all", func(context.Context) int { return len(allStacks()) }},
	{"pprof-1", profile(1)},
	{"pprof-2", profile(2)},
}

func allStacks() []byte {
	for size := 1 << 20; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size {
			return text[:n]
		}
	}
}

func profile(debug int) func(context.Context) int {
	return func(context.Context) int {
		var text bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&text, debug); err != nil {
			return 0
		}
		return text.Len()
	}
}

// BenchmarkTree measures a snapshot of the tree of a process in which n tasks wait, half of them for a channel and half of them
// sleeping, in groups of 100, and other means to inspect all of them. pause-ms is how long the whole program was stopped, the
// median of all pauses, and longest-pause-ms the longest pause, according to runtime/metrics.
func BenchmarkTree(b *testing.B) {
	counts := []int{10_000, 100_000}
	if once() {
		counts = []int{1_000}
	}
	for _, n := range counts {
		err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
			crowd(ctx, n)
			for _, d := range dumps {
				b.Run(fmt.Sprintf("n=%d/lib=%s", n, d.lib), func(b *testing.B) {
					before := pauses()
					for b.Loop() {
						if d.do(ctx) == 0 {
							b.Fatal("nothing was seen")
						}
					}
					b.ReportMetric(milliseconds(b.Elapsed()/time.Duration(b.N)), "ms")
					typical, longest := between(before, pauses())
					b.ReportMetric(typical, "pause-ms")
					b.ReportMetric(longest, "longest-pause-ms")
					b.ReportMetric(0, "ns/op")
				})
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPause takes snapshots of a process in which 10,000 tasks wait: as they are, with one more task that is 40 calls deep, and
// from a call stack that is 40 calls deep. It reports how long the whole program was stopped: the median and the 99th percentile of
// all pauses. Run it with some hundred snapshots (-benchtime 300x): each has two pauses.
func BenchmarkPause(b *testing.B) {
	n := 10_000
	if once() {
		n = 1000
	}
	const deep = 40
	err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
		crowd(ctx, n)
		measure := func(b *testing.B, depth int) {
			before := pauses()
			for b.Loop() {
				if snapshotFrom(ctx, depth) == 0 {
					b.Fatal("nothing was seen")
				}
			}
			after := pauses()
			b.ReportMetric(quantile(before, after, 0.5), "pause-ms")
			b.ReportMetric(quantile(before, after, 0.99), "p99-pause-ms")
			b.ReportMetric(milliseconds(b.Elapsed()/time.Duration(b.N)), "ms")
			b.ReportMetric(0, "ns/op")
		}
		b.Run("deep=none", func(b *testing.B) { measure(b, 0) })
		b.Run("deep=caller", func(b *testing.B) { measure(b, deep) })
		ready := make(chan struct{})
		meanwhile.Go(ctx, func(ctx context.Context) error {
			close(ready)
			return receive(ctx, make(chan struct{}), deep)
		}, meanwhile.InBackground())
		<-ready
		b.Run("deep=task", func(b *testing.B) { measure(b, 0) })
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// snapshotFrom takes a snapshot from the given call depth, and returns how many children ctx's task has in it.
func snapshotFrom(ctx context.Context, depth int) int {
	if depth > 0 {
		return snapshotFrom(ctx, depth-1)
	}
	return len(inspect.Tree(ctx).Tasks)
}

// crowd starts n background tasks and returns when all of them are waiting.
func crowd(ctx context.Context, n int) {
	started := make(chan struct{}, n)
	never := make(chan struct{})
	for range n / 100 {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			for i := range 100 {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					started <- struct{}{}
					if i%2 == 0 {
						return meanwhile.Sleep(ctx, time.Hour)
					}
					return receive(ctx, never, i%10)
				})
			}
			return nil
		}, meanwhile.InBackground())
	}
	for range n {
		<-started
	}
	time.Sleep(100 * time.Millisecond) // until the last of them are waiting
}

// receive receives from ch at the given call depth.
func receive(ctx context.Context, ch <-chan struct{}, depth int) error {
	if depth > 0 {
		return receive(ctx, ch, depth-1)
	}
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pauses returns the pauses of the whole program, except those of the garbage collector.
func pauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/other:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// between returns the median and the longest of the pauses between two readings, in milliseconds: the upper end of the runtime's
// histogram bucket.
func between(before, after *metrics.Float64Histogram) (median, longest float64) {
	return quantile(before, after, 0.5), quantile(before, after, 1)
}

// quantile returns the upper bound of the given share of the pauses between two readings, in milliseconds, as between does.
func quantile(before, after *metrics.Float64Histogram, part float64) float64 {
	var total, seen uint64
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	for i := range after.Counts {
		if seen += after.Counts[i] - before.Counts[i]; total > 0 && float64(seen) >= part*float64(total) {
			return after.Buckets[i+1] * 1000
		}
	}
	return 0
}
