package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkDrain runs jobs that do nothing and have all been enqueued before, 1,000 at a time, until the database reports that
// the last has completed.
func BenchmarkDrain(b *testing.B) {
	n := size(50_000, 500)
	eachOf(b, append(bare, peers...), func(b *testing.B, p peer) {
		var took time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 1000)
			took += drain(b, q, p.store, where, n)
		}
		b.ReportMetric(perSecond(b.N*n, took), "jobs/s")
		b.ReportMetric(0, "ns/op")
	})
}

func drain(b *testing.B, q queue, store, where string, n int) time.Duration {
	b.Helper()
	if err := q.bulk(b.Context(), n, here); err != nil {
		b.Fatal(err)
	}
	rest(b, store, where)
	took, err := run(b.Context(), q, n, nothing)
	if err != nil {
		b.Fatal(err)
	}
	return took
}

// BenchmarkCrowded is BenchmarkDrain in a database that has a million finished jobs, a million jobs in another queue, and a
// million scheduled jobs in the same queue. The slowdown is relative to an empty database in the same run.
func BenchmarkCrowded(b *testing.B) {
	n, others := size(50_000, 200), size(1_000_000, 200)
	each(b, func(b *testing.B, p peer) {
		var empty, crowded time.Duration
		for b.Loop() {
			q, where := p.fresh(b, 1000)
			empty += drain(b, q, p.store, where, n)
			q, where = p.fresh(b, 1000)
			ctx := b.Context()
			if err := errors.Join(q.past(ctx, others), q.bulk(ctx, others, elsewhere), q.bulk(ctx, others, later)); err != nil {
				b.Fatal(err)
			}
			crowded += drain(b, q, p.store, where, n)
		}
		b.ReportMetric(perSecond(b.N*n, empty), "empty-jobs/s")
		b.ReportMetric(perSecond(b.N*n, crowded), "jobs/s")
		b.ReportMetric(float64(crowded)/float64(empty), "slowdown")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkSnapshot enqueues and runs jobs at the same time, 1,000 at a time, while a transaction that was opened before keeps
// the database from removing dead rows. The slowdown is relative to the same without that transaction; last-jobs/s is the rate of
// the last fifth.
func BenchmarkSnapshot(b *testing.B) {
	n := size(200_000, 500)
	each(b, func(b *testing.B, p peer) {
		if p.store == "redis" {
			b.Skip("Redis has no transactions that keep old data")
		}
		var free, held, last time.Duration
		for b.Loop() {
			q, _ := p.fresh(b, 1000)
			took, _ := churn(b, q, n)
			free += took
			q, where := p.fresh(b, 1000)
			look(b, p.store, where)
			took, end := churn(b, q, n)
			held += took
			last += end
		}
		b.ReportMetric(perSecond(b.N*n, free), "free-jobs/s")
		b.ReportMetric(perSecond(b.N*n, held), "jobs/s")
		b.ReportMetric(perSecond(b.N*n/5, last), "last-jobs/s")
		b.ReportMetric(float64(held)/float64(free), "slowdown")
		b.ReportMetric(0, "ns/op")
	})
}

// churn runs n jobs while they are enqueued, a thousand at once and at most five thousand ahead. It returns the time of all, and
// of the last fifth.
func churn(b *testing.B, q queue, n int) (took, last time.Duration) {
	b.Helper()
	ctx := b.Context()
	var done, fifth atomic.Int64
	began := time.Now()
	stop, err := q.work(ctx, func(context.Context, args) error {
		if done.Add(1) == int64(n-n/5) {
			fifth.Store(int64(time.Since(began)))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for sent := 0; err == nil && sent < n; {
		part := min(1000, n-sent)
		err = errors.Join(
			q.bulk(ctx, part, here),
			in(ctx, func() (bool, error) { return done.Load() > int64(sent+part-5000), nil }),
		)
		sent += part
	}
	err = errors.Join(err, q.finished(ctx, n))
	took = time.Since(began)
	if err := errors.Join(err, stop()); err != nil {
		b.Fatal(err)
	}
	return took, took - time.Duration(fifth.Load())
}
