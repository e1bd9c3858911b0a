package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// BenchmarkClaimLanes claims and completes 500 jobs at a time of so many keys.
func BenchmarkClaimLanes(b *testing.B) {
	for _, keys := range []int{0, 1000, 50_000} {
		for _, running := range []int{0, 2} {
			b.Run(fmt.Sprintf("%d keys, %d at once", keys, running), func(b *testing.B) {
				s := open(b, database(b, server()))
				if err := s.SetLimits(b.Context(), "bench", job.Limits{Running: 100_000, EachKey: job.KeyLimits{Running: running}}); err != nil {
					b.Fatal(err)
				}
				const batch = 500
				for b.Loop() {
					b.StopTimer()
					jobs := benchJobs(b, 20*batch)
					for i, j := range jobs {
						if j.Queue = "bench"; keys > 0 {
							j.LimitKey = fmt.Sprint("key ", i%keys)
						}
					}
					if _, err := s.Insert(b.Context(), jobs...); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					for done := 0; done < len(jobs); {
						got, err := s.Claim(b.Context(), job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "bench", Limit: batch}}, Limit: batch, Lease: time.Minute})
						if err != nil || len(got.Jobs) == 0 {
							b.Fatalf("claimed %d, %v", len(got.Jobs), err)
						}
						for _, j := range got.Jobs {
							j.State = job.Completed
						}
						if _, err := s.Settle(b.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil {
							b.Fatal(err)
						}
						done += len(got.Jobs)
					}
				}
				perSecond(b, "jobs", b.N*20*batch)
			})
		}
	}
}
