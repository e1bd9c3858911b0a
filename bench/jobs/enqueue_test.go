package jobs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkEnqueue has callers enqueue one job after the other, each of which is durable when the call returns.
func BenchmarkEnqueue(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			each(b, func(b *testing.B, p peer) {
				var calls []time.Duration
				var took time.Duration
				for b.Loop() {
					q, where := p.fresh(b, 1)
					rest(b, p.store, where)
					began := time.Now()
					calls = append(calls, enqueueFor(b, q, callers, time.Duration(size(2000, 20))*time.Millisecond)...)
					took += time.Since(began)
				}
				b.ReportMetric(perSecond(len(calls), took), "jobs/s")
				b.ReportMetric(milliseconds(percentile(calls, 50)), "p50-ms")
				b.ReportMetric(milliseconds(percentile(calls, 99)), "p99-ms")
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

// enqueueFor returns how long each call took.
func enqueueFor(b *testing.B, q queue, callers int, d time.Duration) []time.Duration {
	b.Helper()
	calls, errs := make([][]time.Duration, callers), make([]error, callers)
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for now := time.Now(); now.Before(end); {
				if errs[c] = q.enqueue(b.Context(), args{N: c, At: now.UnixNano()}); errs[c] != nil {
					return
				}
				before := now
				now = time.Now()
				calls[c] = append(calls[c], now.Sub(before))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	return slices.Concat(calls...)
}

// BenchmarkBulk enqueues many jobs by the fastest bulk call of the library.
func BenchmarkBulk(b *testing.B) {
	n := size(100_000, 500)
	each(b, func(b *testing.B, p peer) {
		var took time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 1)
			rest(b, p.store, where)
			began := time.Now()
			if err := q.bulk(b.Context(), n, here); err != nil {
				b.Fatal(err)
			}
			took += time.Since(began)
		}
		b.ReportMetric(perSecond(b.N*n, took), "jobs/s")
		b.ReportMetric(0, "ns/op")
	})
}

func percentile(values []time.Duration, p int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
