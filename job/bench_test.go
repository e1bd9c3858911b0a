package job_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// BenchmarkWorker measures the overhead of a worker: no-op jobs on the memory store, 1,000 at a time.
func BenchmarkWorker(b *testing.B) {
	b.ReportAllocs()
	store := memory.New()
	ctx, stop := context.WithCancel(b.Context())
	jobs := func(yield func(note, error) bool) {
		for range b.N {
			if !yield(note{"hello"}, nil) {
				return
			}
		}
	}
	if _, err := noteKind.EnqueueAll(ctx, store, jobs); err != nil {
		b.Fatal(err)
	}
	var done atomic.Int64
	config := job.Config{Concurrency: 1000, Logger: slog.New(slog.DiscardHandler), Observe: func(e job.Event) {
		if e.Kind == job.JobCompleted && done.Add(1) == int64(b.N) {
			stop()
		}
	}}
	b.ResetTimer()
	if err := job.NewWorker(store, config, noteKind.Handle(func(context.Context, note) error { return nil })).Run(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
