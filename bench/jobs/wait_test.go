package jobs

import (
	"context"
	"testing"
	"time"
)

// waits returns a handler that waits and stops when ctx is canceled.
func waits(d time.Duration) handler {
	return func(ctx context.Context, _ args) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// BenchmarkWait100ms runs 10,000 jobs that wait for 100 ms each, 1,000 at once. The ideal is one second.
func BenchmarkWait100ms(b *testing.B) {
	runWaiting(b, size(10_000, 400), size(1000, 200), 100*time.Millisecond)
}

// BenchmarkThree runs jobs of 50 ms, three at once. The ideal is 60 jobs per second.
func BenchmarkThree(b *testing.B) {
	runWaiting(b, size(300, 12), 3, 50*time.Millisecond)
}

func runWaiting(b *testing.B, n, atOnce int, wait time.Duration) {
	ideal := time.Duration((n+atOnce-1)/atOnce) * wait
	each(b, func(b *testing.B, p peer) {
		var took time.Duration
		for b.Loop() {
			q, where := p.fresh(b, atOnce)
			if err := q.bulk(b.Context(), n, here); err != nil {
				b.Fatal(err)
			}
			rest(b, p.store, where)
			once, err := run(b.Context(), q, n, waits(wait))
			if err != nil {
				b.Fatal(err)
			}
			took += once
		}
		b.ReportMetric(milliseconds(took)/float64(b.N), "ms")
		b.ReportMetric(float64(took)/float64(b.N)/float64(ideal), "x-ideal")
		b.ReportMetric(perSecond(b.N*n, took), "jobs/s")
		b.ReportMetric(0, "ns/op")
	})
}
