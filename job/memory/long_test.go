package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// Tests of days run here, in bubbles: the suite of all stores cannot wait that long.

func newJob(t testing.TB, opts ...job.EnqueueOption) *job.Job {
	t.Helper()
	j, err := job.New("k", json.RawMessage("null"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestPruneForgetsWorkersAndCrons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), memory.New()
		count := func() (workers, crons int) {
			t.Helper()
			if _, err := s.Prune(ctx, nil, 0); err != nil {
				t.Fatal(err)
			}
			w, err := s.Workers(ctx)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Crons(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return len(w), len(c)
		}
		if _, err := s.Renew(ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Tick(ctx, job.Tick{Cron: "c", Spec: "s"}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after          time.Duration
			workers, crons int
		}{{23 * time.Hour, 1, 1}, {2 * time.Hour, 0, 1}, {28 * 24 * time.Hour, 0, 1}, {48 * time.Hour, 0, 0}} {
			time.Sleep(step.after)
			if w, c := count(); w != step.workers || c != step.crons {
				t.Errorf("%v later: %d workers and %d crons, want %d and %d", step.after, w, c, step.workers, step.crons)
			}
		}
	})
}

func TestUniqueForAYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		ctx, s := t.Context(), memory.New()
		taken := func() bool {
			t.Helper()
			j := newJob(t, job.Unique("a"), job.UniqueFor(year))
			got, err := s.Insert(ctx, j)
			if err != nil {
				t.Fatal(err)
			}
			return got[0] != j.ID
		}
		if taken() {
			t.Fatal("the key is held in an empty store")
		}
		claimed, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: 1}}, Limit: 1, Lease: time.Minute})
		if err != nil || len(claimed.Jobs) != 1 {
			t.Fatalf("claimed %+v, %v", claimed, err)
		}
		claimed.Jobs[0].State = job.Completed
		if _, err := s.Settle(ctx, 1, job.Outcomes(claimed.Jobs...)...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(year - time.Second)
		if _, err := s.Prune(ctx, map[job.State]time.Duration{job.Completed: time.Hour}, 10); err != nil {
			t.Fatal(err)
		}
		if !taken() {
			t.Error("the key is free before the end of the year")
		}
		time.Sleep(time.Second)
		if taken() {
			t.Error("the key is held after the end of the year")
		}
	})
}

func TestWaitIsWokenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		for range 3 {
			start := time.Now()
			time.AfterFunc(time.Second, func() {
				if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
					t.Error(err)
				}
			})
			if _, err := s.Wait(t.Context(), "default"); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != time.Second {
				t.Errorf("wait took %v, want until the insert after a second", took)
			}
		}
		start := time.Now()
		if _, err := s.Wait(t.Context(), "default"); err != nil || time.Since(start) == 0 {
			t.Errorf("wait without a cause returned %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Wait(ctx, "default"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait returned %v, want the error of ctx", err)
		}
	})
}

func TestOpen(t *testing.T) {
	s, err := job.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.(*memory.Store); !ok {
		t.Errorf("opened a %T", s)
	}
}
