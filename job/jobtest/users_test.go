package jobtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/retry"
)

type mail struct{ To string }

var sendMail = job.Define[mail]("mail.send", job.MaxAttempts(3))

var errSend = errors.New("no answer")

func mailTo(t *testing.T, to string, opts ...job.EnqueueOption) *job.Job {
	t.Helper()
	j, err := sendMail.New(mail{to}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestRun(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		used  int // attempts
		want  job.EventKind
		state job.State
	}{
		{"completed", nil, 0, job.JobCompleted, job.Completed},
		{"retried", errSend, 0, job.JobRetried, job.Queued},
		{"the last attempt", errSend, 2, job.JobDiscarded, job.Discarded},
		{"permanent", retry.Permanent(errSend), 0, job.JobDiscarded, job.Discarded},
		{"canceled", job.Cancel(errSend), 0, job.JobCanceled, job.Canceled},
		{"snoozed", job.Snooze(time.Hour), 0, job.JobSnoozed, job.Queued},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := mailTo(t, "a@b.c", job.Queue("mail"))
			j.Attempt = test.used
			before := *j
			calls := 0
			got := jobtest.Run(t, sendMail.Handle(func(ctx context.Context, m mail) error {
				calls++
				if running, ok := job.FromContext(ctx); !ok || running.ID != j.ID || m.To != "a@b.c" {
					t.Errorf("the handler got job %v with args %+v", running, m)
				}
				return test.err
			}), j)
			if got.Kind != test.want || got.Job.State != test.state || calls != 1 || got.Job.Attempt != test.used+1 {
				t.Errorf("got %v, a job that is %s, %d calls, attempt %d", got.Kind, got.Job.State, calls, got.Job.Attempt)
			}
			if errors.Is(test.err, errSend) && (!errors.Is(got.Err, errSend) || got.Job.LastError() == "") {
				t.Errorf("error %v, failure %q, want %v", got.Err, got.Job.LastError(), errSend)
			}
			if j.State != before.State || j.Attempt != before.Attempt || j.Queue != before.Queue {
				t.Errorf("Run changed the given job to %+v", j)
			}
		})
	}
}

func TestRunKeepsTheResult(t *testing.T) {
	got := jobtest.Run(t, job.HandleResult(sendMail, func(_ context.Context, m mail) (int, error) { return len(m.To), nil }), mailTo(t, "a@b.c"))
	if string(got.Job.Result) != "5" {
		t.Errorf("result %s, want 5", got.Job.Result)
	}
}

func TestDrain(t *testing.T) {
	store := memory.New()
	next := job.Define[int]("next", job.Queue("other"))
	if _, err := job.Insert(t.Context(), store, mailTo(t, "a"), mailTo(t, "fails"), mailTo(t, "later", job.In(time.Hour)), mailTo(t, "b")); err != nil {
		t.Fatal(err)
	}
	var nexts atomic.Int64
	got := jobtest.Drain(
		t, store,
		sendMail.Handle(func(ctx context.Context, m mail) error {
			if m.To == "fails" {
				return errSend
			}
			_, err := next.Enqueue(ctx, store, 2)
			return err
		}),
		next.Handle(func(ctx context.Context, n int) error {
			nexts.Add(1)
			if n == 0 {
				return nil
			}
			_, err := next.Enqueue(ctx, store, n-1, job.Queue(fmt.Sprint("q", n)))
			return err
		}),
	)
	if want := (jobtest.Drained{Completed: 8, Retried: 1}); got != want || nexts.Load() != 6 {
		t.Errorf("drained %+v and %d jobs that handlers enqueued, want %+v and 6", got, nexts.Load(), want)
	}
	if again := jobtest.Drain(t, store); again != (jobtest.Drained{}) {
		t.Errorf("drained %+v the second time", again)
	}
}

func TestDrainFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		start := time.Now()
		if _, err := job.Insert(t.Context(), store, mailTo(t, "fails"), mailTo(t, "in 2 days", job.In(48*time.Hour)), mailTo(t, "in a week", job.In(7*24*time.Hour))); err != nil {
			t.Fatal(err)
		}
		var ran []string
		got := jobtest.DrainFor(t, store, 72*time.Hour, sendMail.Handle(func(_ context.Context, m mail) error {
			ran = append(ran, m.To)
			if m.To == "fails" {
				return errSend
			}
			return nil
		}))
		if want := (jobtest.Drained{Completed: 1, Retried: 2, Discarded: 1}); got != want {
			t.Errorf("drained %+v, want %+v", got, want)
		}
		if want := []string{"fails", "fails", "fails", "in 2 days"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
		if took := time.Since(start); took < 48*time.Hour || took > 49*time.Hour {
			t.Errorf("took %v, want two days", took)
		}
	})
}

// TestDrainForLeavesOtherKinds: a job without a handler stays, due or not, and the test goes on.
func TestDrainForLeavesOtherKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, start := memory.New(), time.Now()
		other, err := job.New("other", []byte("null"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Insert(t.Context(), store, other, mailTo(t, "in an hour", job.In(time.Hour))); err != nil {
			t.Fatal(err)
		}
		for _, want := range []jobtest.Drained{{Completed: 1}, {}} {
			if got := jobtest.DrainFor(t, store, 100*time.Hour, sendMail.Handle(func(context.Context, mail) error { return nil })); got != want {
				t.Errorf("drained %+v, want %+v", got, want)
			}
		}
		if took := time.Since(start); took < time.Hour || took > 2*time.Hour {
			t.Errorf("took %v, want an hour", took)
		}
		if got := jobtest.DrainFor(t, store, time.Hour); got != (jobtest.Drained{}) {
			t.Errorf("drained %+v without a handler", got)
		}
	})
}

func TestEnqueued(t *testing.T) {
	store := memory.New()
	for _, to := range []string{"a", "b"} {
		if _, err := sendMail.Enqueue(t.Context(), store, mail{to}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(to string) func(mail) bool { return func(m mail) bool { return m.To == to } }
	j := jobtest.RequireEnqueued(t, store, sendMail, is("a"))
	if args, err := sendMail.Args(j); err != nil || args.To != "a" {
		t.Errorf("found %s, %v", j.Args, err)
	}
	if j := jobtest.AssertEnqueued(t, store, sendMail, nil); j == nil || !strings.Contains(string(j.Args), "b") {
		t.Errorf("found %v, want the newest", j)
	}
	spy := &spy{TB: t}
	if j := jobtest.AssertEnqueued(spy, store, sendMail, is("c")); j != nil || !strings.Contains(spy.failed, `queued {"To":"b"}`) {
		t.Errorf("found %v, failed with %q", j, spy.failed)
	}
	if jobtest.AssertEnqueued(spy, store, job.Define[int]("none"), nil); !strings.Contains(spy.failed, `no job of kind "none" was enqueued`) {
		t.Errorf("failed with %q", spy.failed)
	}
}

// A spy records the failures of a test.
type spy struct {
	testing.TB
	failed string
}

func (s *spy) Error(args ...any) { s.failed = fmt.Sprint(args...) }

func TestFaulty(t *testing.T) {
	errBefore, errAfter := errors.New("before"), errors.New("after")
	good := memory.New()
	store := jobtest.Faulty(good, func(c jobtest.Call) jobtest.Fault {
		switch c {
		case jobtest.Call{Method: "Insert", N: 1}:
			return jobtest.Fault{Before: errBefore}
		case jobtest.Call{Method: "Insert", N: 2}:
			return jobtest.Fault{After: errAfter}
		}
		return jobtest.Fault{}
	})
	for i, want := range []error{errBefore, errAfter, nil} {
		j := mailTo(t, "a")
		if _, err := store.Insert(t.Context(), j); !errors.Is(err, want) {
			t.Errorf("insert %d returned %v, want %v", i, err, want)
		}
		if _, err := job.Find(t.Context(), good, j.ID); (err == nil) != (i > 0) {
			t.Errorf("insert %d: %v", i, err)
		}
	}
}

func TestFaultyKeepsTheContract(t *testing.T) {
	jobtest.TestStoreInBubble(t, func(*testing.T) job.Store {
		return jobtest.Faulty(memory.New(), func(jobtest.Call) jobtest.Fault { return jobtest.Fault{} })
	})
}

// Each call is delayed at random, as on a busy machine.
func TestSlowStoreKeepsTheContract(t *testing.T) {
	jobtest.TestStoreInBubble(t, func(*testing.T) job.Store {
		return jobtest.Faulty(memory.New(), func(jobtest.Call) jobtest.Fault {
			time.Sleep(rand.N(300 * time.Millisecond))
			return jobtest.Fault{}
		})
	})
}

func TestRunOfALongAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := job.HandleRaw("slow", func(ctx context.Context, j *job.Job) error {
			job.Progress(ctx, 1, 2)
			select {
			case <-time.After(3 * time.Hour):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		j, err := job.New("slow", json.RawMessage("null"))
		if err != nil {
			t.Fatal(err)
		}
		if e := jobtest.Run(t, handler, j); e.Kind != job.JobCompleted || e.Elapsed != 3*time.Hour {
			t.Errorf("it ended as %v after %v: %v", e.Kind, e.Elapsed, e.Err)
		}
	})
}
