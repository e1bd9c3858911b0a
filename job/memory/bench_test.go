package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// BenchmarkClaim claims and completes 500 jobs at a time while many others are scheduled or queued.
func BenchmarkClaim(b *testing.B) {
	for _, beside := range []int{0, 100_000} {
		b.Run(fmt.Sprint(beside, "_beside"), func(b *testing.B) {
			ctx, s := b.Context(), memory.New()
			jobs := make([]*job.Job, 0, 2*beside)
			for range beside {
				jobs = append(jobs, newJob(b, job.In(time.Hour)), newJob(b, job.Priority(1)))
			}
			if _, err := s.Insert(ctx, jobs...); err != nil {
				b.Fatal(err)
			}
			const batch = 500
			for b.Loop() {
				jobs = jobs[:0]
				for range batch {
					jobs = append(jobs, newJob(b))
				}
				if _, err := s.Insert(ctx, jobs...); err != nil {
					b.Fatal(err)
				}
				got, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: batch}}, Limit: batch, Lease: time.Minute})
				if err != nil || len(got.Jobs) != batch {
					b.Fatalf("claimed %d, %v", len(got.Jobs), err)
				}
				for _, j := range got.Jobs {
					j.State = job.Completed
				}
				if _, err := s.Settle(ctx, 1, job.Outcomes(got.Jobs...)...); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Prune(ctx, map[job.State]time.Duration{job.Completed: 0}, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
