package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestRatesBetweenMicroseconds: a claim less than a microsecond before a rate is full again starts what is left, as any other does.
func TestRatesBetweenMicroseconds(t *testing.T) {
	rate := job.Rate{N: 100, Per: time.Second, Burst: 5}
	const bytes = 10_000_000
	for name, test := range map[string]struct {
		limits job.Limits
		option job.EnqueueOption
		full   time.Duration // from the start of one job until the rate is full again
		want   int           // then, and a day later
		later  int
	}{
		"starts of a key": {job.Limits{EachKey: job.KeyLimits{Starts: rate}}, job.LimitKey("a"), 5 * time.Millisecond, 4, 5},
		"starts":          {job.Limits{Starts: rate}, job.Cost(1), 5 * time.Millisecond, 4, 5},
		"units":           {job.Limits{Units: job.Rate{N: bytes, Per: time.Second, Burst: bytes}}, job.Cost(bytes / 10), 100 * time.Millisecond, 10, 11}, // a late start is made up for
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, s := t.Context(), memory.New()
				if err := s.SetLimits(ctx, job.DefaultQueue, test.limits); err != nil {
					t.Fatal(err)
				}
				for range 100 {
					if _, err := s.Insert(ctx, newJob(t, test.option)); err != nil {
						t.Fatal(err)
					}
				}
				claim := func(n int) int {
					t.Helper()
					c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, Limit: n, Lease: 48 * time.Hour}
					got, err := s.Claim(ctx, c)
					if err != nil {
						t.Fatal(err)
					}
					return len(got.Jobs)
				}
				if n := claim(1); n != 1 {
					t.Fatalf("started %d jobs, want 1", n)
				}
				time.Sleep(test.full - 500*time.Nanosecond)
				if n := claim(50); n != test.want {
					t.Errorf("started %d jobs, want %d", n, test.want)
				}
				time.Sleep(24 * time.Hour)
				if n := claim(50); n != test.later {
					t.Errorf("a day later started %d jobs, want %d", n, test.later)
				}
			})
		})
	}
}
