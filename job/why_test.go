package job_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), memory.New()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		insert := func(opts ...job.EnqueueOption) job.ID {
			t.Helper()
			j, err := job.New("k", []byte("1"), append([]job.EnqueueOption{job.Queue("models")}, opts...)...)
			ok(err)
			_, err = s.Insert(ctx, j)
			ok(err)
			return j.ID
		}
		want := func(id job.ID, want string) {
			t.Helper()
			got, err := job.Why(ctx, s, id)
			ok(err)
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		worker := func(info job.WorkerInfo) {
			t.Helper()
			_, err := s.Renew(ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: info})
			ok(err)
		}
		claim := func(n int) []*job.Job {
			t.Helper()
			got, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "models", Limit: n}}, Limit: n, Lease: time.Minute})
			ok(err)
			if len(got.Jobs) != n {
				t.Fatalf("claimed %d, want %d", len(got.Jobs), n)
			}
			return got.Jobs
		}
		able := job.WorkerInfo{Queues: []string{"models"}, Kinds: []string{"k"}, Concurrency: 10, Running: 4}

		want(insert(job.In(90*time.Minute)), "due in 1h30m")
		id := insert(job.LimitKey("tenant-7"))
		want(id, "no worker claims jobs of queue models")
		worker(job.WorkerInfo{Queues: []string{"models"}, Kinds: []string{"other"}})
		want(id, "no worker of queue models handles the kind k")
		quiet := able
		quiet.Quiet = true
		worker(quiet)
		want(id, "the workers of queue models are quiet or stopping")
		worker(able)
		want(id, "it is about to be claimed: 2 jobs are queued, and the workers of queue models have 6 slots free")
		full := able
		full.Running = 10
		worker(full)
		want(id, "the workers of queue models are at capacity: 10 of 10 jobs run, 2 are queued")
		ok(s.Pause(ctx, "models", true))
		want(id, "queue models is paused")
		ok(s.Pause(ctx, "models", false))

		ok(s.SetLimits(ctx, "models", job.Limits{Running: 1}))
		held := claim(1)[0]
		want(id, "running")
		next := insert(job.LimitKey("tenant-7"))
		want(next, "1 of 1 job of queue models runs")
		ok(s.SetLimits(ctx, "models", job.Limits{EachKey: job.KeyLimits{Running: 1}}))
		want(next, "1 of 1 job of key tenant-7 runs")
		want(insert(), "the workers of queue models are at capacity: 10 of 10 jobs run, 3 are queued")
		held.State = job.Completed
		_, err := s.Settle(ctx, 1, job.Outcomes(held)...)
		ok(err)
		want(id, "completed")

		ok(s.SetKeyLimits(ctx, "models", "tenant-5", job.KeyLimits{Running: 2}))
		for range 4 {
			next = insert(job.LimitKey("tenant-5"), job.Priority(9))
		}
		claim(2)
		want(next, "2 of 2 jobs of key tenant-5 run (its own limit)")
		ok(s.SetKeyLimits(ctx, "models", "tenant-5", job.KeyLimits{Starts: job.Rate{N: 60, Per: time.Hour}}))
		claim(1)
		want(next, "starts again in 1m: 60 per hour of key tenant-5 (its own limit)")
		ok(s.SetKeyLimits(ctx, "models", "tenant-5", job.KeyLimits{Units: job.Rate{N: 60, Per: time.Hour}}))
		claim(1)
		insert(job.LimitKey("tenant-5"), job.Cost(2), job.Priority(9))
		claim(1)
		next = insert(job.LimitKey("tenant-5"), job.Priority(9))
		want(next, "starts again in 2m: 60 units per hour of key tenant-5 (its own limit)")
		ok(s.SetKeyLimits(ctx, "models", "tenant-5", job.KeyLimits{Running: 9}))
		ok(s.SetLimits(ctx, "models", job.Limits{EachKey: job.KeyLimits{InOrder: true}}))
		want(next, "5 of 1 jobs of key tenant-5 run")
		ok(s.SetKeyLimits(ctx, "models", "tenant-5", job.KeyLimits{}))
		ok(s.SetLimits(ctx, "models", job.Limits{}))
		claim(1)

		ok(s.SetLimits(ctx, "models", job.Limits{EachKey: job.KeyLimits{Starts: job.Rate{N: 60, Per: time.Hour}}}))
		claim(2)
		next = insert(job.LimitKey("tenant-7"))
		want(next, "starts again in 1m: 60 per hour of key tenant-7")
		ok(s.SetLimits(ctx, "models", job.Limits{Starts: job.Rate{N: 500, Per: time.Minute, Burst: 1}}))
		claim(1)
		want(insert(), "starts again in 120ms: 500 per minute of queue models")

		ok(s.SetLimits(ctx, "models", job.Limits{}))
		claim(1)
		ok(s.SetLimits(ctx, "models", job.Limits{
			Units: job.Rate{N: 90_000, Per: time.Minute, Burst: 5}, EachKey: job.KeyLimits{Units: job.Rate{N: 60, Per: time.Hour}},
		}))
		insert(job.LimitKey("tenant-7"), job.Cost(3))
		claim(1)
		want(insert(job.LimitKey("tenant-7")), "starts again in 3m: 60 units per hour of key tenant-7")
		insert(job.Cost(180_000), job.Priority(9))
		claim(1)
		next = insert()
		want(next, "starts again in 2m: 90000 units per minute, 5 at once of queue models")
		ok(s.SetLimits(ctx, "models", job.Limits{}))
		claim(2)
		ok(s.SetLimits(ctx, "models", job.Limits{EachKey: job.KeyLimits{InOrder: true}}))
		first := insert(job.LimitKey("tenant-9"), job.In(time.Hour))
		want(insert(job.LimitKey("tenant-9")), "the jobs of key tenant-9 run in order: job "+first.String()+" comes first")
		ok(s.SetLimits(ctx, "models", job.Limits{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}}))
		_, err = s.Apply(ctx, job.Filter{IDs: []job.ID{first}, Limit: 1}, job.ActionDiscard)
		ok(err)
		next = insert(job.LimitKey("tenant-9"))
		want(next, "held by job "+first.String()+" of its key, which was discarded: retry or delete it")
		_, err = s.Apply(ctx, job.Filter{IDs: []job.ID{first}, Limit: 1}, job.ActionDelete)
		ok(err)
		claim(1)
		ok(s.SetLimits(ctx, "models", job.Limits{}))
		insert(job.LimitKey("tenant-7"), job.Priority(9))
		held = claim(1)[0]
		next = insert(job.LimitKey("tenant-7"))
		held.State, held.Delay = job.Queued, 30*time.Second
		_, err = s.Settle(ctx, 1, job.Outcome{Job: held, Throttle: held.Delay})
		ok(err)
		want(next, "starts again in 30s: key tenant-7 was throttled")
		insert(job.Priority(9))
		held = claim(1)[0]
		held.State = job.Completed
		_, err = s.Settle(ctx, 1, job.Outcome{Job: held, Throttle: 40 * time.Second})
		ok(err)
		want(next, "starts again in 40s: queue models was throttled")

		time.Sleep(time.Minute)
		want(insert(), "no worker claims jobs of queue models")
		if _, err := job.Why(ctx, s, job.NewID()); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("a job that does not exist: %v", err)
		}
	})
}

// TestWhyOfOne: texts about one job and one free slot are in the singular.
func TestWhyOfOne(t *testing.T) {
	s := memory.New()
	j, err := job.New("k", json.RawMessage("null"))
	if err == nil {
		_, err = s.Insert(t.Context(), j)
	}
	if err != nil {
		t.Fatal(err)
	}
	for running, want := range map[int]string{
		3: "it is about to be claimed: 1 job is queued, and the workers of queue default have 1 slot free",
		4: "the workers of queue default are at capacity: 4 of 4 jobs run, 1 is queued",
	} {
		info := job.WorkerInfo{Queues: []string{job.DefaultQueue}, Concurrency: 4, Running: running}
		if _, err := s.Renew(t.Context(), job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: info}); err != nil {
			t.Fatal(err)
		}
		if got, err := job.Why(t.Context(), s, j.ID); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

// TestWhyWithoutConcurrency: a program that only claims, as the smallest of the API does, reports neither how many jobs it runs nor how many it may.
func TestWhyWithoutConcurrency(t *testing.T) {
	s := memory.New()
	ids := make([]job.ID, 3)
	for i := range ids {
		j, err := job.New("k", json.RawMessage("null"))
		if err == nil {
			_, err = s.Insert(t.Context(), j)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = j.ID
	}
	if _, err := job.NewClaimer(s).Fetch(t.Context(), job.Fetch{Worker: "w", Queues: []string{job.DefaultQueue}}); err != nil {
		t.Fatal(err)
	}
	want := "the workers of queue default have not reported how many jobs they run at once: 1 job of the queue runs, 2 are queued"
	if got, err := job.Why(t.Context(), s, ids[2]); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := s.Renew(t.Context(), job.Renewal{Worker: "v", Session: 2, Lease: time.Minute, Info: job.WorkerInfo{Queues: []string{job.DefaultQueue}, Concurrency: 4}}); err != nil {
		t.Fatal(err)
	}
	want = "it is about to be claimed: 2 jobs are queued, and the workers of queue default have 4 slots free"
	if got, err := job.Why(t.Context(), s, ids[2]); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestWhyHowLong: a duration has no units that are zero or too small to matter.
func TestWhyHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		for in, want := range map[time.Duration]string{
			71532 * time.Second: "19h52m", 2*time.Hour - time.Second: "2h", 90 * time.Minute: "1h30m", 61 * time.Second: "1m1s",
			59_960 * time.Millisecond: "1m", 12_440 * time.Millisecond: "12.4s", 5 * time.Millisecond: "5ms",
		} {
			j, err := job.New("k", []byte("1"), job.In(in))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Insert(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			if got, err := job.Why(t.Context(), s, j.ID); err != nil || got != "due in "+want {
				t.Errorf("got %q, %v; want %q", got, err, "due in "+want)
			}
		}
	})
}
