package redis_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestLateRunOfClaim: a claim may need several runs of its script. One that the server receives late, when the worker has given up the call or its
// session has ended, claims nothing: nobody would run these jobs.
func TestLateRunOfClaim(t *testing.T) {
	address := sharedServer(t)
	for name, c := range map[string]struct {
		lease time.Duration
		then  func(t *testing.T, s *redis.Store)
		want  int
	}{
		"at once": {lease: time.Hour, want: 3},
		"after the next call": {lease: time.Hour, then: func(t *testing.T, s *redis.Store) {
			again := claimed(t, s, 1, 2, func(c *job.Claim) { c.Call, c.Since = 2, 1 }, job.DefaultQueue)
			if len(again) != 2 {
				t.Errorf("the next call returned %d jobs of the one before, want 2", len(again))
			}
		}},
		"after the worker has left": {lease: time.Hour, then: func(t *testing.T, s *redis.Store) {
			if err := s.Leave(t.Context(), "w1", 1); err != nil {
				t.Fatal(err)
			}
		}},
		"after the lease": {lease: time.Microsecond},
	} {
		for _, todo := range []string{"d", "ed"} {
			t.Run(name+" "+todo, func(t *testing.T) {
				s := open(t, "redis://"+address+"?name="+rand.Text())
				run := func(limit int, todo string) int {
					n, err := s.ClaimRun(t.Context(), job.Claim{
						Worker: "w1", Session: 1, Call: 1, Limit: limit, Lease: c.lease, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: limit}},
						Expired: true,
					}, todo)
					if err != nil {
						t.Fatal(err)
					}
					return n
				}
				insert(t, s, newJobs(t, 2, "k")...)
				if n := run(2, "bd"); n != 2 {
					t.Fatalf("the first run took %d jobs, want 2", n)
				}
				if c.then != nil {
					c.then(t, s)
				}
				insert(t, s, newJobs(t, 3, "k")...)
				if n := run(3, todo); n != c.want {
					t.Errorf("a later run took %d jobs, want %d", n, c.want)
				}
				if left := claimed(t, s, 2, 5, nil, job.DefaultQueue); len(left) != 3-c.want {
					t.Errorf("%d jobs are left for others, want %d", len(left), 3-c.want)
				}
			})
		}
	}
}
