package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// BenchmarkLatency enqueues 100 jobs per second and measures the time from the call to the start of the handler, so it includes
// the commit. On PostgreSQL the jobs are enqueued by another client than the worker's, as from another process.
func BenchmarkLatency(b *testing.B) {
	n := size(1000, 20)
	each(b, func(b *testing.B, p peer) {
		var waits []time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 100)
			from := q
			if p.store == "postgres" {
				from = p.openAt(b, where, 1)
			}
			waits = append(waits, trickle(b, from, q, n)...)
		}
		b.ReportMetric(milliseconds(percentile(waits, 50)), "p50-ms")
		b.ReportMetric(milliseconds(percentile(waits, 99)), "p99-ms")
		b.ReportMetric(milliseconds(percentile(waits, 100)), "most-ms")
		b.ReportMetric(0, "ns/op")
	})
}

// trickle returns how long each of n jobs waited for its start. They are enqueued at random, every 10 ms on average.
func trickle(b *testing.B, from, to queue, n int) []time.Duration {
	b.Helper()
	ctx := b.Context()
	var mu sync.Mutex
	var waits []time.Duration
	stop, err := to.work(ctx, func(_ context.Context, a args) error {
		wait := time.Since(time.Unix(0, a.At))
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, wait)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // until the worker is waiting for jobs
	for i := range n {
		time.Sleep(rand.N(20 * time.Millisecond))
		err = errors.Join(err, from.enqueue(ctx, args{N: i, At: time.Now().UnixNano()}))
	}
	if err := errors.Join(err, to.finished(ctx, n), stop()); err != nil {
		b.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return waits
}
