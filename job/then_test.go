package job_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

var nextKind = job.Define[note]("next")

// next enqueues a follow-up job of the job of ctx.
func next(ctx context.Context, text string, opts ...job.EnqueueOption) error {
	j, err := nextKind.New(note{text}, opts...)
	if err != nil {
		return err
	}
	return job.Then(ctx, j)
}

// followers returns the args of the follow-up jobs that were enqueued.
func (r *rig) followers() (found []string) {
	r.Helper()
	for j, err := range job.List(r.ctx, r.store, job.Filter{Kinds: []string{"next"}}) {
		r.must(err)
		found = append(found, string(j.Args))
	}
	return found
}

func TestWhatFollowsAnAttempt(t *testing.T) {
	ends := map[string]struct {
		err    error
		follow bool
	}{
		"completes": {nil, true},
		"fails":     {errFlaky, false},
		"snoozes":   {job.Snooze(time.Hour), false},
		"cancels":   {job.Cancel(nil), false},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, job.Config{Queues: []job.QueueConfig{{Name: job.DefaultQueue}}}, noteKind.Handle(func(ctx context.Context, _ note) error {
					return errors.Join(next(ctx, "a", job.Queue("later")), next(ctx, "b", job.Queue("later")), end.err)
				}))
				r.enqueue(job.MaxAttempts(1))
				seconds(1)
				if got := len(r.followers()) == 2; got != end.follow {
					t.Errorf("an attempt that %s: got follow-up jobs %q", name, r.followers())
				}
			})
		})
	}
}

// TestWhatFollowsARetry: each attempt names its own follow-up jobs. Those of an attempt that failed are not enqueued by the next one.
func TestWhatFollowsARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{Queues: []job.QueueConfig{{Name: job.DefaultQueue}}}, job.Define[note]("note", job.Backoff(second)).Handle(func(ctx context.Context, _ note) error {
			j, _ := job.FromContext(ctx)
			if err := next(ctx, fmt.Sprint(j.Attempt), job.Queue("later")); err != nil || j.Attempt < 3 {
				return errors.Join(err, errFlaky)
			}
			return nil
		}))
		r.enqueue()
		seconds(5)
		if got := r.followers(); len(got) != 1 || got[0] != `{"text":"3"}` {
			t.Errorf("got %q, want the follow-up job of the third attempt", got)
		}
	})
}

func TestWhatFollowsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var late error
		r = newRig(t, job.Config{Queues: []job.QueueConfig{{Name: job.DefaultQueue}}}, noteKind.Handle(func(ctx context.Context, _ note) error {
			if err := next(ctx, "a", job.Queue("later")); err != nil {
				return err
			}
			if err := job.Complete(ctx, r.store); err != nil {
				return err
			}
			late = next(ctx, "b", job.Queue("later"))
			return nil
		}))
		id := r.enqueue()
		seconds(1)
		r.wantState(id, job.Completed)
		if got := r.followers(); len(got) != 1 {
			t.Errorf("got %q, want the follow-up job that was named before Complete", got)
		}
		if late == nil || !strings.Contains(late.Error(), "job.Complete was called") {
			t.Errorf("Then after Complete returned %v", late)
		}
	})
}

// TestMuchFollows: many jobs with a thousand follow-up jobs each are not written in one transaction.
func TestMuchFollows(t *testing.T) {
	t.Parallel()
	const jobs = 10
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		for range jobs {
			r.enqueue()
		}
		largest := 0
		counting := &countingThen{Store: r.store, largest: &largest}
		r.startWorker(counting, job.Config{Queues: []job.QueueConfig{{Name: job.DefaultQueue}}}, noteKind.Handle(func(ctx context.Context, _ note) error {
			for range job.MaxThen - 1 {
				if err := next(ctx, "a", job.Queue("later")); err != nil {
					return err
				}
			}
			return next(ctx, "b", job.Queue("later"))
		}))
		t.Cleanup(r.end)
		seconds(3)
		infos, err := r.store.Queues(r.ctx)
		if err != nil || len(infos) != 1 || infos[0].Queued != jobs*job.MaxThen {
			t.Errorf("queues %+v, %v", infos, err)
		}
		if largest > job.MaxThen {
			t.Errorf("got %d follow-up jobs in one transaction, want at most %d", largest, job.MaxThen)
		}
	})
}

type countingThen struct {
	job.Store
	largest *int
}

func (c *countingThen) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	then, err := job.FollowUps(outcomes, nil)
	if err != nil {
		return nil, err
	}
	*c.largest = max(*c.largest, len(then))
	return c.Store.Settle(ctx, session, outcomes...)
}

func TestThenRefuses(t *testing.T) {
	if err := next(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "not that of a handler") {
		t.Errorf("outside of a handler: %v", err)
	}
	var many, twice error
	handler := noteKind.Handle(func(ctx context.Context, _ note) error {
		j, err := nextKind.New(note{"a"})
		if err != nil {
			return err
		}
		twice = job.Then(ctx, j, j)
		jobs := make([]*job.Job, job.MaxThen+1)
		for i := range jobs {
			jobs[i] = j
		}
		many = job.Then(ctx, jobs...)
		return job.Then(ctx, j)
	})
	j, err := noteKind.New(note{"x"})
	if err != nil {
		t.Fatal(err)
	}
	got := jobtest.Run(t, handler, j)
	if twice == nil || !strings.Contains(twice.Error(), "is given twice") {
		t.Errorf("a job given twice: %v", twice)
	}
	if many == nil || !strings.Contains(many.Error(), "1001 jobs are to follow it, at most 1000 may") {
		t.Errorf("too many jobs: %v", many)
	}
	if len(got.Then) != 1 || got.Then[0].Kind != "next" {
		t.Errorf("jobtest.Run returned %d follow-up jobs, want 1", len(got.Then))
	}
}

// TestThenTakesJobsThatWereMade: a job that was not created by New fails the attempt that passes it, but not the worker.
func TestThenTakesJobsThatWereMade(t *testing.T) {
	for name, follower := range map[string]*job.Job{"nil": nil, "zero": {}, "not whole": {ID: job.NewID(), Kind: "next", Queue: job.DefaultQueue, MaxAttempts: 1, Priority: 10}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error { return job.Then(ctx, follower) }))
				id := r.enqueue(job.MaxAttempts(1))
				seconds(1)
				if j := r.wantState(id, job.Discarded); !strings.Contains(j.LastError(), "by job.New") && !strings.Contains(j.LastError(), "priority 10") {
					t.Errorf("error %q, want one that says how to create jobs", j.LastError())
				}
				if _, err := job.Insert(r.ctx, r.store, follower); err == nil {
					t.Error("Insert accepted the job")
				}
			})
		})
	}
}
