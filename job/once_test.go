package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/retry"
)

var charge = job.Define[note]("charge", job.AtMostOnce(), job.Backoff(second), job.Timeout(time.Minute))

// A onceRig runs jobs of a kind that is run at most once, with workers that start and stop, and counts how often the handler starts.
type onceRig struct {
	*rig
	begins atomic.Int64
	fn     func(ctx context.Context) error
}

func newOnceRig(t *testing.T, fn func(ctx context.Context) error) *onceRig {
	return &onceRig{rig: newIdleRig(t), fn: fn}
}

func (r *onceRig) start(store job.Store) {
	config := job.Config{Grace: time.Second, Lease: 6 * time.Second, Queues: []job.QueueConfig{{Name: job.DefaultQueue}}}
	r.startWorker(store, config, charge.Handle(func(ctx context.Context, _ note) error {
		r.begins.Add(1)
		return r.fn(ctx)
	}))
}

func (r *onceRig) stopWorker() {
	r.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.Errorf("the worker ended with %v", err)
	}
}

func (r *onceRig) enqueue() job.ID {
	r.Helper()
	done, err := charge.Enqueue(r.ctx, r.store, note{})
	if err != nil {
		r.Fatal(err)
	}
	return done.ID
}

func untilCanceled(ctx context.Context) error { return meanwhile.Sleep(ctx, 100*time.Hour) }

// TestAtMostOnce: the handler starts once, whatever happens then.
func TestAtMostOnce(t *testing.T) {
	fails := jobtest.Fault{Before: errors.New("not now")}
	tests := []struct {
		name  string
		fn    func(ctx context.Context) error
		drive func(r *onceRig) job.ID
		error string // of the last failure
	}{
		{"it fails", func(context.Context) error { return errFlaky }, nil, "flaky"},
		{"it panics", func(context.Context) error { panic("oh") }, nil, "oh"},
		{"it asks for another attempt", func(context.Context) error { return retry.After(errFlaky, time.Second) }, nil, "flaky"},
		{"it snoozes", func(context.Context) error { return job.Snooze(time.Second) }, nil, "Snooze(1s), which is not for a kind that is run at most once"},
		{"it was throttled", func(context.Context) error { return job.Throttled(errFlaky, time.Second) }, nil, "Throttled(1s), which is not for a kind that is run at most once"},
		{"it takes longer than its timeout", untilCanceled, nil, job.ErrTimeout.Error()},
		{"its worker stops", untilCanceled, func(r *onceRig) job.ID {
			id := r.enqueue()
			for range 3 {
				r.start(r.store)
				seconds(2)
				r.stopWorker()
			}
			return id
		}, "its worker stopped, and a job of its kind is run at most once"},
		{"its process dies", untilCanceled, func(r *onceRig) job.ID {
			id := r.enqueue()
			got, err := r.store.Claim(r.ctx, job.Claim{
				Worker: "dead", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Second,
			})
			if err != nil || len(got.Jobs) != 1 {
				r.Fatalf("claim: %+v, %v", got, err)
			}
			r.begins.Add(1) // there
			return id
		}, "the process died once"},
		{"its worker is cut off for longer than the lease", untilCanceled, func(r *onceRig) job.ID {
			var down atomic.Bool
			r.start(jobtest.Faulty(r.store, func(jobtest.Call) jobtest.Fault {
				if down.Load() {
					return fails
				}
				return jobtest.Fault{}
			}))
			id := r.enqueue()
			seconds(2)
			down.Store(true)
			seconds(10)
			down.Store(false)
			seconds(10)
			r.stopWorker()
			return id
		}, "the process died once"},
		{"its outcome cannot be written", func(context.Context) error { return nil }, func(r *onceRig) job.ID {
			r.start(jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
				if c.Method == "Settle" {
					return fails
				}
				return jobtest.Fault{}
			}))
			id := r.enqueue()
			seconds(30)
			r.stopWorker()
			seconds(10)
			return id
		}, "the process died"},
		{"it was enqueued by name, with attempts", func(context.Context) error { return errFlaky }, func(r *onceRig) job.ID {
			j, err := job.New(charge.Name(), json.RawMessage(`{}`), job.MaxAttempts(20))
			if err != nil {
				r.Fatal(err)
			}
			if _, err := job.Insert(r.ctx, r.store, j); err != nil {
				r.Fatal(err)
			}
			return j.ID
		}, "flaky"},
		{"it was claimed, and not begun, when a worker stopped", func(context.Context) error { return errFlaky }, func(r *onceRig) job.ID {
			claiming := make(chan struct{})
			slow := jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
				if c.Method == "Claim" && c.N == 1 {
					close(claiming)
					time.Sleep(time.Second)
				}
				return jobtest.Fault{}
			})
			id := r.enqueue()
			r.start(slow)
			<-claiming
			r.stopWorker()
			if j := r.wantState(id, job.Queued); j.Attempt != 1 || j.Used() != 0 {
				r.Errorf("attempt %d, %d used; want it claimed and released", j.Attempt, j.Used())
			}
			return id
		}, "flaky"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newOnceRig(t, test.fn)
				if test.drive == nil {
					test.drive = (*onceRig).enqueue
				}
				id := test.drive(r)
				r.start(r.store)
				seconds(600)
				r.stopWorker()
				if n := r.begins.Load(); n != 1 {
					t.Errorf("the handler started %d times, want once", n)
				}
				if j := r.wantState(id, job.Discarded); !strings.Contains(j.LastError(), test.error) {
					t.Errorf("the last failure is %q, want one with %q in it", j.LastError(), test.error)
				}
			})
		})
	}
}

// TestAtMostOnceAndARetryByHand: a retry by hand runs the job again, since somebody has decided that it may.
func TestAtMostOnceAndARetryByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newOnceRig(t, func(context.Context) error { return errFlaky })
		id := r.enqueue()
		r.start(r.store)
		for n := int64(1); n <= 3; n++ {
			seconds(1)
			r.wantState(id, job.Discarded)
			if got := r.begins.Load(); got != n {
				t.Errorf("the handler started %d times, want %d", got, n)
			}
			if _, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{id}}, job.ActionRetry); err != nil {
				t.Fatal(err)
			}
		}
		r.stopWorker()
	})
}

func TestAtMostOnceHasOneAttempt(t *testing.T) {
	j, err := charge.New(note{})
	if err != nil || j.MaxAttempts != 1 {
		t.Errorf("%+v, %v; want a job with one attempt", j, err)
	}
	const want = `job kind "charge": 5 attempts, and it is run at most once, see AtMostOnce: leave MaxAttempts out`
	if _, err := charge.New(note{}, job.MaxAttempts(5)); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	defer func() {
		if got, want := recover(), "job: Define: "+want; got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	job.Define[note]("charge", job.MaxAttempts(5), job.AtMostOnce())
}

// TestReleasesAreBounded: a job takes longer than each of its workers lives.
func TestReleasesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begins atomic.Int64
		r := newIdleRig(t)
		id := r.enqueue(job.MaxAttempts(3))
		for n := 1; n <= 30; n++ {
			r.startWorker(r.store, job.Config{Grace: time.Second}, job.Define[note]("note", job.Backoff(second)).Handle(func(ctx context.Context, _ note) error {
				begins.Add(1)
				return untilCanceled(ctx)
			}))
			seconds(3)
			r.stop()
			if err := <-r.ended; err != nil {
				t.Fatal(err)
			}
			j := r.find(id)
			want := job.Queued
			if n >= 23 {
				want = job.Discarded
			}
			if used := min(max(n-20, 0), 3); j.State != want || j.Used() != used || j.Released != min(n, 20) {
				t.Fatalf("after %d releases the job is %s, with %d attempts used and %d releases; want %s, %d, %d", n, j.State, j.Used(), j.Released, want, used, min(n, 20))
			}
		}
		if n := begins.Load(); n != 23 {
			t.Errorf("the job was started %d times, want 20 that do not count and 3 that do", n)
		}
		if text := r.find(id).LastError(); !strings.Contains(text, "its worker stopped, as before: after 20 times each counts as an attempt") {
			t.Errorf("the last failure is %q", text)
		}
		if _, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{id}}, job.ActionRetry); err != nil {
			t.Fatal(err)
		}
		if j := r.find(id); j.Released != 0 || j.Used() != 0 {
			t.Errorf("after a retry by hand: %d releases and %d attempts used, want none", j.Released, j.Used())
		}
	})
}

// TestReleasesAreNotForgotten: the number of releases is written together with the progress of a running job.
func TestReleasesAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		id := r.enqueue()
		for n := 1; n <= 2; n++ {
			r.startWorker(r.store, job.Config{Grace: time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
				job.Progress(ctx, 1, 2)
				return untilCanceled(ctx)
			}))
			seconds(3)
			if j := r.wantState(id, job.Running); j.Released != n-1 || j.Progress == nil {
				t.Errorf("while it runs: %d released, want %d; progress %v", j.Released, n-1, j.Progress)
			}
			r.stop()
			if err := <-r.ended; err != nil {
				t.Fatal(err)
			}
		}
	})
}
