package sqlite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/lanes/lanelaw"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// TestNewKeysByPriority: however many new limit keys there are, a claim finds the one that has a job of the highest priority, and before
// all new keys those whose jobs have ended.
func TestNewKeysByPriority(t *testing.T) {
	s := open(t, migrated(t))
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

// TestFullNewKeys: new keys whose jobs may not start do not hold up another key. They are new to the store because none of their jobs was
// waiting.
func TestFullNewKeys(t *testing.T) {
	s := open(t, migrated(t))
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

// TestMoreKeysThanAreKnown: however many keys have jobs that may start, or that are due later, a process caches a bounded number of them, and all get
// their turns.
func TestMoreKeysThanAreKnown(t *testing.T) {
	testenv.LongTest(t) // runs fifty thousand jobs
	const keys, each, most = sqlite.MostKnown * 9 / 8, 3, 2000
	s := open(t, migrated(t))
	if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{Running: job.MaxLimit}); err != nil {
		t.Fatal(err)
	}
	for range each {
		var jobs []*job.Job
		for i := range keys {
			jobs = append(jobs, newJob(t, job.LimitKey(fmt.Sprint("key ", i))))
		}
		insert(t, s, jobs)
	}
	claim := benchClaim
	claim.Limit, claim.Queues = most, []job.QueueLimit{{Queue: job.DefaultQueue, Limit: most}}
	started := map[string]int{}
	for n := 0; n < keys*each; {
		got, err := s.Claim(t.Context(), claim)
		if err != nil || len(got.Jobs) == 0 {
			t.Fatalf("claimed %d jobs after %d, %v", len(got.Jobs), n, err)
		}
		for _, j := range got.Jobs {
			started[j.LimitKey]++
		}
		// Between two turns of a key, the search visits each key once, and each gets one turn.
		if n += len(got.Jobs); n > 2*keys+most && len(started) < keys {
			t.Fatalf("%d jobs have started, and none of %d keys", n, keys-len(started))
		}
		if known := s.KnownLanes(); known > sqlite.MostKnown {
			t.Fatalf("%d lanes are known, want at most %d", known, sqlite.MostKnown)
		}
	}
	var later []*job.Job
	for i := range sqlite.MostKnown*2 + 2000 {
		later = append(later, newJob(t, job.LimitKey(fmt.Sprint("later ", i)), job.In(time.Hour)))
	}
	insert(t, s, later)
	for {
		got, err := s.Claim(t.Context(), claim)
		if err != nil || len(got.Jobs) > 0 {
			t.Fatalf("claimed %d jobs that are not due, %v", len(got.Jobs), err)
		}
		if known := s.KnownLanes(); known > 2*sqlite.MostKnown {
			t.Fatalf("%d lanes that wait for a time are known, want at most %d", known, 2*sqlite.MostKnown)
		}
		if got.Next > time.Minute {
			break
		}
	}
}

// TestJobsThatAnotherProcessTook: a claim returns as many jobs as it may, even if another process has claimed those in this one's cache.
func TestJobsThatAnotherProcessTook(t *testing.T) {
	path := migrated(t)
	a, b := open(t, path), open(t, path)
	var jobs []*job.Job
	for i := range 90 {
		jobs = append(jobs, newJob(t, job.LimitKey(fmt.Sprint("key ", i%2))))
	}
	insert(t, a, jobs)
	claim := benchClaim
	for i, s := range []*sqlite.Store{a, b, a, a, b} {
		claim.Limit = []int{4, 4, 12, 30, 35}[i]
		if got, err := s.Claim(t.Context(), claim); err != nil || len(got.Jobs) != claim.Limit {
			t.Errorf("claim %d took %d jobs, %v; want %d", i+1, len(got.Jobs), err, claim.Limit)
		}
	}
}

// TestOrderThatAnotherProcessWentOnWith: among jobs in order, the next one counts with its own priority, even if another process ran the one
// before.
func TestOrderThatAnotherProcessWentOnWith(t *testing.T) {
	path := migrated(t)
	a, b := open(t, path), open(t, path)
	if err := a.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{InOrder: true}}); err != nil {
		t.Fatal(err)
	}
	claim := benchClaim
	claim.Limit = 1
	one := func(s *sqlite.Store, priority int) *job.Job {
		t.Helper()
		got, err := s.Claim(t.Context(), claim)
		if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Priority != priority {
			t.Fatalf("claimed %+v, %v; want a job of priority %d", got.Jobs, err, priority)
		}
		return got.Jobs[0]
	}
	for _, j := range []*job.Job{
		newJob(t, job.LimitKey("a"), job.Priority(4)), newJob(t, job.LimitKey("a"), job.Priority(6)), newJob(t, job.Priority(9)), newJob(t, job.Priority(8)),
	} {
		insert(t, a, []*job.Job{j})
	}
	one(b, 9) // creates the index of jobs in order, so that everything is read again
	one(b, 8) // the process knows the key by now
	ended := one(a, 4)
	insert(t, a, []*job.Job{newJob(t, job.LimitKey("b"), job.Priority(5))})
	ended.State = job.Completed
	if lost, err := a.Settle(t.Context(), benchClaim.Session, job.Outcomes(ended)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle lost %d: %v", len(lost), err)
	}
	one(b, 6)
	one(b, 5)
}

// TestTurns: processes share the turns of keys.
func TestTurns(t *testing.T) {
	path := migrated(t)
	lanelaw.CheckTurns(t, open(t, path), open(t, path))
}

// TestTurnsAreNotForgotten: each key gets its turn even if a process has to drop its cache.
func TestTurnsAreNotForgotten(t *testing.T) {
	s := open(t, migrated(t))
	lanelaw.CheckForgotten(t, s, func() {
		if _, err := s.DB().ExecContext(t.Context(), "update meanwhile_change set n = n + 20000"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFullLaneWaitsForNoTime: the cache of a lane at capacity is correct without the time at which its next job becomes due, since the lane is
// read again when one of its running jobs ends. Another process has claimed the jobs that were due according to this one's cache, so this one
// never saw that only a later job is waiting.
func TestFullLaneWaitsForNoTime(t *testing.T) {
	path := migrated(t)
	one, other := open(t, path), open(t, path)
	if err := one.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 2}}); err != nil {
		t.Fatal(err)
	}
	claim := func(s *sqlite.Store, n int, kinds ...string) []*job.Job {
		t.Helper()
		c := benchClaim
		c.Limit, c.Queues, c.Kinds = n, []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, kinds
		got, err := s.Claim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return got.Jobs
	}
	insert(t, one, []*job.Job{
		newJob(t, job.LimitKey("a")), newJob(t, job.LimitKey("a")), newJob(t, job.LimitKey("a"), job.In(time.Hour)), newJob(t),
	})
	if got := claim(one, 5, "unknown"); len(got) != 0 {
		t.Fatalf("claimed %d jobs of an unknown kind", len(got))
	}
	running := claim(other, 3)
	if len(running) != 3 || len(claim(one, 5)) != 0 {
		t.Fatalf("the other process has claimed %d jobs, want 3, and this one none", len(running))
	}
	swept := func() {
		t.Helper()
		for range 3 {
			pruned, err := one.Prune(t.Context(), nil, 10)
			if err != nil || len(pruned.Repaired) > 0 {
				t.Fatalf("repaired %+v, %v", pruned.Repaired, err)
			}
		}
	}
	swept()
	for _, j := range running {
		j.State = job.Completed
	}
	if lost, err := other.Settle(t.Context(), 1, job.Outcomes(running...)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle lost %d: %v", len(lost), err)
	}
	if got, err := one.Claim(t.Context(), benchClaim); err != nil || len(got.Jobs) != 0 || got.Next <= 0 || got.Next > time.Hour {
		t.Errorf("claimed %d jobs, the next in %s, %v; want none, and the next within an hour", len(got.Jobs), got.Next, err)
	}
	swept()
}

// TestEndsAreNoChangesWithoutLimits: once a key was at capacity, the end of each job writes a change that every process reads, but only while the
// queue has limits.
func TestEndsAreNoChangesWithoutLimits(t *testing.T) {
	path := migrated(t)
	worker, operator := open(t, path), open(t, path)
	claim := benchClaim
	claim.Limit = 1
	limit := func(l job.KeyLimits) {
		t.Helper()
		if err := operator.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: l}); err != nil {
			t.Fatal(err)
		}
	}
	take := func(n int) []*job.Job {
		t.Helper()
		got, err := worker.Claim(t.Context(), claim)
		if err != nil || len(got.Jobs) != n {
			t.Fatalf("claimed %d jobs, %v; want %d", len(got.Jobs), err, n)
		}
		return got.Jobs
	}
	end := func(jobs []*job.Job) (changes int) {
		t.Helper()
		const last = "select coalesce(max(n), 0) from meanwhile_change"
		var before, after int
		err := worker.DB().QueryRow(last).Scan(&before)
		for _, j := range jobs {
			j.State = job.Completed
		}
		if lost, err := worker.Settle(t.Context(), 1, job.Outcomes(jobs...)...); err != nil || len(lost) > 0 {
			t.Fatalf("settle lost %d: %v", len(lost), err)
		}
		if err = errors.Join(err, worker.DB().QueryRow(last).Scan(&after)); err != nil {
			t.Fatal(err)
		}
		return after - before
	}
	for range 2 {
		limit(job.KeyLimits{Running: 1})
		insert(t, worker, []*job.Job{newJob(t, job.LimitKey("a")), newJob(t, job.LimitKey("a"))})
		first := take(1)
		take(0)
		if n := end(first); n != 1 {
			t.Errorf("the end of a job whose key is at capacity is %d changes, want 1", n)
		}
		second := take(1)
		limit(job.KeyLimits{})
		if n := end(second); n != 0 {
			t.Errorf("the end of a job is %d changes after the limits were removed, want none", n)
		}
	}
}
