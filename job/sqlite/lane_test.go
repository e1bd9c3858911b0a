package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestNewKeysByPriority: however many new limit keys there are, a claim finds the one with a job of the highest priority among them, and
// those whose jobs have ended before all new ones.
func TestNewKeysByPriority(t *testing.T) {
	s := open(t, file(t))
	if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
		t.Fatal(err)
	}
	claim := benchClaim
	claim.Limit = 1
	one := func(want string) *job.Job {
		t.Helper()
		got, err := s.Claim(t.Context(), claim)
		if err != nil || len(got.Jobs) != 1 || got.Jobs[0].LimitKey != want {
			t.Fatalf("claimed %d jobs, %v; want one of key %s", len(got.Jobs), err, want)
		}
		return got.Jobs[0]
	}
	insert(t, s, []*job.Job{newJob(t, job.LimitKey("old")), newJob(t, job.LimitKey("old"))})
	running := one("old")
	var jobs []*job.Job
	for _, p := range []int{3, 5, 1} {
		for i := range 250 {
			jobs = append(jobs, newJob(t, job.LimitKey(fmt.Sprintf("key %d %d", p, i)), job.Priority(p)))
		}
	}
	insert(t, s, jobs)
	insert(t, s, []*job.Job{newJob(t, job.LimitKey("z"), job.Priority(9))})
	one("z")
	one("key 5 0")
	running.State = job.Completed
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(running)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle lost %d: %v", len(lost), err)
	}
	claim.Limit = 700
	claim.Queues = []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 700}}
	got, err := s.Claim(t.Context(), claim)
	if err != nil || len(got.Jobs) != 700 {
		t.Fatalf("claimed %d jobs, %v; want 700", len(got.Jobs), err)
	}
	seen := map[string]bool{}
	for _, j := range got.Jobs {
		if seen[j.LimitKey] {
			t.Errorf("two jobs of key %s", j.LimitKey)
		}
		seen[j.LimitKey] = true
	}
	if !seen["old"] {
		t.Error("the key whose job ended is not among them")
	}
}

// TestFullNewKeys: keys that are new to the store, since none of their jobs waited, and whose jobs may not start, do not hold up another.
func TestFullNewKeys(t *testing.T) {
	s := open(t, file(t))
	if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
		t.Fatal(err)
	}
	full := func() (jobs []*job.Job) {
		for i := range 450 {
			jobs = append(jobs, newJob(t, job.LimitKey(fmt.Sprint("full ", i))))
		}
		return jobs
	}
	insert(t, s, full())
	if got, err := s.Claim(t.Context(), benchClaim); err != nil || len(got.Jobs) != 450 {
		t.Fatalf("claimed %d jobs, %v; want 450", len(got.Jobs), err)
	}
	insert(t, s, full())
	insert(t, s, []*job.Job{newJob(t, job.LimitKey("new"))})
	claim := benchClaim
	claim.Limit = 1
	if got, err := s.Claim(t.Context(), claim); err != nil || len(got.Jobs) != 1 || got.Jobs[0].LimitKey != "new" {
		t.Errorf("claimed %d jobs, %v; want that of the new key", len(got.Jobs), err)
	}
}
