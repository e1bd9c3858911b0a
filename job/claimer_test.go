package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A counter gives out jobs of a rig's store, as a server for programs in other languages does.
type counter struct {
	*rig
	claimer *job.Claimer
}

func newCounter(t *testing.T) *counter {
	r := newIdleRig(t)
	return &counter{r, job.NewClaimer(r.store)}
}

func (c *counter) fetch(f job.Fetch) job.Fetched {
	c.Helper()
	if f.Worker == "" {
		f.Worker = "ruby-1"
	}
	f.Queues = []string{job.DefaultQueue}
	got, err := c.claimer.Fetch(c.ctx, f)
	c.must(err)
	return got
}

// fetchOne fetches a job, and returns the end of its attempt.
func (c *counter) fetchOne() job.End {
	c.Helper()
	got := c.fetch(job.Fetch{Limit: 5})
	if len(got.Jobs) != 1 {
		c.Fatalf("fetched %d jobs, want 1", len(got.Jobs))
	}
	return job.End{Session: got.Session, ID: got.Jobs[0].ID, Attempt: got.Jobs[0].Attempt}
}

func (c *counter) finish(end job.End, want ...job.ID) {
	c.Helper()
	lost, err := c.claimer.Finish(c.ctx, end)
	c.must(err)
	if !slices.Equal(lost, want) {
		c.Errorf("lost %v, want %v", lost, want)
	}
}

// TestClaimerFinishesAsAWorkerDoes compares the outcomes with those of a worker whose handler ends the same way.
func TestClaimerFinishesAsAWorkerDoes(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		result string
	}{
		"completes":          {nil, `{"n":1}`},
		"result is not JSON": {nil, `{`},
		"result too large":   {nil, `"` + strings.Repeat("x", job.MaxResult) + `"`},
		"fails":              {errFlaky, ""},
		"is permanent":       {retry.Permanent(errFlaky), ""},
		"waits as told":      {retry.After(errFlaky, time.Hour), ""},
		"snoozes":            {job.Snooze(time.Hour), ""},
		"is throttled":       {job.Throttled(errFlaky, time.Hour), ""},
		"cancels":            {job.Cancel(errFlaky), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				id := c.enqueue()
				end := c.fetchOne()
				end.Err, end.Result = test.err, []byte(test.result)
				c.finish(end)
				got := c.find(id)

				r := newRig(t, job.Config{}, job.HandleRaw("note", func(_ context.Context, j *job.Job) error {
					j.Result = []byte(test.result)
					return test.err
				}))
				want := r.find(r.enqueue())
				seconds(0.5)
				want = r.find(want.ID)
				if got.State != want.State || got.Attempt != want.Attempt || got.Uncounted != want.Uncounted || got.LastError() != want.LastError() ||
					string(got.Result) != string(want.Result) || len(got.Records) != len(want.Records) || got.RunAt.Sub(want.RunAt).Abs() > 2*time.Second {
					t.Errorf("finished by a claimer, got\n%+v, by a worker\n%+v", got, want)
				}
				byClaimer, err := c.store.Limits(c.ctx, job.DefaultQueue, "")
				c.must(err)
				byWorker, err := r.store.Limits(r.ctx, job.DefaultQueue, "")
				c.must(err)
				if (byClaimer[0].QueueHeld - byWorker[0].QueueHeld).Abs() > 2*time.Second {
					t.Errorf("finished by a claimer, the queue is held back for %v, by a worker for %v", byClaimer[0].QueueHeld, byWorker[0].QueueHeld)
				}
			})
		})
	}
}

func TestClaimerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		begun := time.Now()
		if got := c.fetch(job.Fetch{Wait: 30 * time.Second}); len(got.Jobs) > 0 || time.Since(begun) != 30*time.Second {
			t.Errorf("fetched %d jobs after %v, want none after 30s", len(got.Jobs), time.Since(begun))
		}
		time.AfterFunc(7*time.Second, func() { c.enqueue() })
		begun = time.Now()
		got := c.fetch(job.Fetch{Wait: 30 * time.Second, Lease: 10 * time.Second})
		if len(got.Jobs) != 1 || time.Since(begun) > 8*time.Second {
			t.Fatalf("fetched %d jobs after %v, want 1 after 7s", len(got.Jobs), time.Since(begun))
		}
		// The lease has its full length, however long the program has waited.
		seconds(9.5)
		if again := c.fetch(job.Fetch{Worker: "ruby-2"}); len(again.Jobs) > 0 {
			t.Error("a job whose lease is not over was given to another program")
		}
		c.finish(job.End{Session: got.Session, ID: got.Jobs[0].ID, Attempt: 1})
	})
}

func TestClaimerExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		id := c.enqueue(job.MaxAttempts(2))
		first := c.fetchOne()
		seconds(25)
		program := job.WorkerInfo{Name: "ruby-1", Host: "h", Queues: []string{job.DefaultQueue}}
		got, err := c.claimer.Extend(c.ctx, program, time.Minute, job.Leased{Session: first.Session, Jobs: []job.ID{id}})
		if err != nil || len(got.Lost)+len(got.Canceled) > 0 || got.State != job.WorkerRuns {
			t.Errorf("extended: %+v, %v", got, err)
		}
		if workers, err := c.store.Workers(c.ctx); err != nil || len(workers) != 1 || workers[0].Host != "h" {
			t.Errorf("workers are %+v, %v", workers, err)
		}
		seconds(50)
		if got := c.fetch(job.Fetch{}); len(got.Jobs) > 0 {
			t.Error("a leased job was fetched")
		}
		seconds(20)
		second := c.fetchOne()
		if second.Attempt != 2 {
			t.Errorf("attempt %d, want 2", second.Attempt)
		}
		if j := c.find(id); len(j.Failures) != 1 || !strings.Contains(j.LastError(), "was not heard of") {
			t.Errorf("failures %+v, want that of the lease", j.Failures)
		}
		c.finish(first, id)
		if got, err := c.claimer.Extend(c.ctx, program, time.Minute, job.Leased{Session: first.Session, Jobs: []job.ID{id}}); err != nil || !slices.Equal(got.Lost, []job.ID{id}) {
			t.Errorf("lost %v, %v", got.Lost, err)
		}
		_, err = job.Apply(c.ctx, c.store, job.Filter{IDs: []job.ID{id}}, job.ActionCancel)
		c.must(err)
		if got, err := c.claimer.Extend(c.ctx, program, time.Minute, job.Leased{Session: second.Session, Jobs: []job.ID{id}}); err != nil || !slices.Equal(got.Canceled, []job.ID{id}) {
			t.Errorf("canceled %v, %v", got.Canceled, err)
		}
		second.Err = job.ErrCanceled
		c.finish(second)
		c.wantState(id, job.Canceled)
		c.finish(second, id)
	})
}

// TestClaimerFinishesWhatMustNotRun: a job whose last attempt crashed is discarded, and not fetched.
func TestClaimerFinishesWhatMustNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		id := c.enqueue(job.MaxAttempts(1))
		c.fetchOne()
		seconds(31)
		if got := c.fetch(job.Fetch{}); len(got.Jobs) > 0 {
			t.Errorf("fetched %+v", got.Jobs)
		}
		if j := c.wantState(id, job.Discarded); len(j.Failures) != 2 || !strings.Contains(j.LastError(), "the process died once") {
			t.Errorf("failures %+v", j.Failures)
		}
	})
}

func TestClaimerReleasesAndFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		id := c.enqueue()
		end := c.fetchOne()
		end.Err = job.ErrStopping
		c.finish(end)
		if j := c.wantState(id, job.Queued); j.Used() != 0 || j.Released != 1 {
			t.Errorf("got %d attempts used and %d releases, want 0 and 1", j.Used(), j.Released)
		}
		next, err := nextKind.New(note{"a"}, job.Queue("later"))
		c.must(err)
		end = c.fetchOne()
		end.Err, end.Then = errFlaky, []*job.Job{next}
		c.finish(end)
		if got := c.followers(); len(got) != 0 {
			t.Errorf("a failed attempt has the follow-up jobs %q", got)
		}
		seconds(3)
		end = c.fetchOne()
		end.Then = []*job.Job{next}
		c.finish(end)
		if got := c.followers(); len(got) != 1 {
			t.Errorf("got the follow-up jobs %q, want one", got)
		}
	})
}

// TestClaimerFollowsWithinBounds: an attempt with too many follow-up jobs fails, and does not hold up others of its session.
func TestClaimerFollowsWithinBounds(t *testing.T) {
	for name, test := range map[string]struct {
		opts []job.EnqueueOption
		then int
		want job.State
	}{
		"as many as may":             {nil, job.MaxThen, job.Completed},
		"one too many":               {nil, job.MaxThen + 1, job.Queued},
		"as many, with a webhook":    {[]job.EnqueueOption{job.Webhook("http://localhost/")}, job.MaxThen - 1, job.Completed},
		"one too many for a webhook": {[]job.EnqueueOption{job.Webhook("http://localhost/")}, job.MaxThen, job.Queued},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				many, other := c.enqueue(test.opts...), c.enqueue()
				got := c.fetch(job.Fetch{Limit: 2})
				end := job.End{Session: got.Session, ID: many, Attempt: 1}
				for range test.then {
					j, err := nextKind.New(note{"a"}, job.Queue("later"))
					c.must(err)
					end.Then = append(end.Then, j)
				}
				lost, err := c.claimer.Finish(c.ctx, end, job.End{Session: got.Session, ID: other, Attempt: 1})
				if err != nil || len(lost) > 0 {
					t.Errorf("lost %v, %v", lost, err)
				}
				c.wantState(other, job.Completed)
				if j := c.wantState(many, test.want); test.want == job.Queued && !strings.Contains(j.LastError(), "at most 1000 may") {
					t.Errorf("the attempt failed with %q", j.LastError())
				}
			})
		})
	}
}

// TestClaimerReleasesWhatItCannotBegin: claimed jobs are released if the store fails to write the outcomes of earlier attempts.
func TestClaimerReleasesWhatItCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		expired := c.enqueue()
		c.fetchOne()
		seconds(31)
		due := c.enqueue()
		c.claimer = job.NewClaimer(&failing{Store: c.store, settles: []error{errFlaky}})
		fetch := job.Fetch{Worker: "ruby-1", Queues: []string{job.DefaultQueue}, Limit: 5}
		if _, err := c.claimer.Fetch(c.ctx, fetch); !errors.Is(err, errFlaky) {
			t.Fatalf("got %v, want the error of the store", err)
		}
		for _, id := range []job.ID{expired, due} {
			c.wantState(id, job.Queued)
		}
		if got := c.fetch(fetch); len(got.Jobs) != 2 {
			t.Errorf("fetched %d jobs, want both immediately", len(got.Jobs))
		}
	})
}

// TestClaimerCounts: attempts of programs are counted like those of workers, by minute, queue and kind, and reported at the latest when programs
// leave.
func TestClaimerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		for range 3 {
			c.enqueue()
		}
		end := func(err error) {
			got := c.fetch(job.Fetch{})
			seconds(1)
			c.finish(job.End{Session: got.Session, ID: got.Jobs[0].ID, Attempt: got.Jobs[0].Attempt, Err: err})
		}
		end(nil)
		end(retry.Permanent(errFlaky))
		end(job.Snooze(time.Hour))
		stats := func() (total job.Stat) {
			rows, err := c.store.Stats(c.ctx, job.StatsFilter{})
			c.must(err)
			for _, s := range rows {
				if s.Kind != "" && s.Worker != "ruby-1" {
					t.Errorf("a row is of worker %s", s.Worker)
				}
				total.Completed, total.Discarded, total.Snoozed = total.Completed+s.Completed, total.Discarded+s.Discarded, total.Snoozed+s.Snoozed
				total.Run.Merge(s.Run)
				total.Wait.Merge(s.Wait)
			}
			return total
		}
		want := func(when string) {
			t.Helper()
			got := stats()
			if got.Completed != 1 || got.Discarded != 1 || got.Snoozed != 1 || got.Run.Count() != 3 || got.Wait.Count() != 3 ||
				got.Run.Quantile(0.5) < 700*time.Millisecond || got.Run.Quantile(0.5) > 1500*time.Millisecond {
				t.Errorf("%s: %d completed, %d discarded, %d snoozed; %d ran for %v, %d waited", when,
					got.Completed, got.Discarded, got.Snoozed, got.Run.Count(), got.Run.Quantile(0.5), got.Wait.Count())
			}
		}
		_, err := c.claimer.Extend(c.ctx, job.WorkerInfo{Name: "ruby-1", Host: "h", PID: 1}, time.Minute)
		c.must(err)
		want("extended")
		// The counts of another process with the same name are added, and nothing counts twice.
		_, err = c.claimer.Extend(c.ctx, job.WorkerInfo{Name: "ruby-1", Host: "h", PID: 2}, time.Minute)
		c.must(err)
		want("another process")
		c.enqueue()
		end(job.Cancel(nil))
		c.must(c.claimer.Leave(c.ctx, "ruby-1"))
		rows, err := c.store.Stats(c.ctx, job.StatsFilter{})
		c.must(err)
		canceled, completed := int64(0), int64(0)
		for _, s := range rows {
			canceled, completed = canceled+s.Canceled, completed+s.Completed
		}
		if canceled != 1 || completed != 1 {
			t.Errorf("after it left: %d canceled, %d completed, want 1 of each", canceled, completed)
		}
	})
}

// slowList is a store whose next list of workers is read immediately, but returned only when wait is closed.
type slowList struct {
	job.Store
	wait chan struct{} // nil for no wait
}

func (s *slowList) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	listed, err := s.Store.Workers(ctx, names...)
	if wait := s.wait; wait != nil {
		s.wait = nil
		<-wait
	}
	return listed, err
}

// TestClaimerOrdersAreNotUndone: a fetch that started to list the program before a command was received does not undo the command.
func TestClaimerOrdersAreNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowList{Store: newIdleRig(t).store}
		claimer := job.NewClaimer(store)
		ctx := t.Context()
		extend := func() job.WorkerState {
			got, err := claimer.Extend(ctx, job.WorkerInfo{Name: "ruby-1"}, time.Minute)
			if err != nil {
				t.Error(err)
			}
			return got.State
		}
		extend()
		goOn := make(chan struct{})
		store.wait = goOn
		go func() {
			if _, err := claimer.Fetch(ctx, job.Fetch{Worker: "ruby-1", Queues: []string{"q"}}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if err := store.SendCommand(ctx, "ruby-1", job.Command{Do: job.CommandQuiet}); err != nil {
			t.Fatal(err)
		}
		go extend()
		time.Sleep(time.Second)
		close(goOn)
		time.Sleep(time.Second)
		if got := extend(); got != job.WorkerQuiet {
			t.Errorf("the state is %s, want quiet", got)
		}
	})
}

func TestClaimerRefuses(t *testing.T) {
	c := newCounter(t)
	for want, f := range map[string]job.Fetch{
		"the worker has no name": {Queues: []string{"q"}},
		"no queue is named":      {Worker: "w"},
		"a limit of -1":          {Worker: "w", Queues: []string{"q"}, Limit: -1},
		"a lease of 1ms":         {Worker: "w", Queues: []string{"q"}, Lease: time.Millisecond},
	} {
		if _, err := c.claimer.Fetch(c.ctx, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	c.must(c.store.Close())
	_, err := c.claimer.Fetch(c.ctx, job.Fetch{Worker: "w", Queues: []string{"q"}, Wait: time.Hour})
	if !errors.Is(err, job.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestClaimerObserves: the observer gets the events that the one of a worker gets, and no event for what does not count.
func TestClaimerObserves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		var got []string
		c.claimer.Observe = func(e job.Event) {
			got = append(got, fmt.Sprintf("%v %s %s attempt %d wait %v elapsed %v delay %v then %d: %v",
				e.Kind, e.Worker, e.Job.Kind, e.Job.Attempt, e.Wait, e.Elapsed, e.Delay, len(e.Then), e.Err))
			panic("must not matter")
		}
		want := func(when string, events ...string) {
			t.Helper()
			if !slices.Equal(got, events) {
				t.Errorf("%s: got\n%s, want\n%s", when, strings.Join(got, "\n"), strings.Join(events, "\n"))
			}
			got = nil
		}
		c.enqueue()
		seconds(2)
		end := c.fetchOne()
		want("fetched", "started ruby-1 note attempt 1 wait 2s elapsed 0s delay 0s then 0: <nil>")
		seconds(1)
		next, err := job.New("note", []byte("{}"))
		c.must(err)
		end.Then = []*job.Job{next}
		c.finish(end)
		want("finished", "completed ruby-1 note attempt 1 wait 0s elapsed 1s delay 0s then 1: <nil>")
		c.finish(end, end.ID)
		want("finished again")

		end = c.fetchOne()
		got = nil
		end.Err = job.Snooze(time.Hour)
		c.finish(end)
		want("snoozed", "snoozed ruby-1 note attempt 1 wait 0s elapsed 0s delay 1h0m0s then 0: <nil>")

		canceled := c.enqueue()
		end = c.fetchOne()
		got = nil
		_, err = job.Apply(c.ctx, c.store, job.Filter{IDs: []job.ID{canceled}}, job.ActionCancel)
		c.must(err)
		end.Err = errFlaky
		c.finish(end)
		want("canceled", "canceled ruby-1 note attempt 1 wait 0s elapsed 0s delay 0s then 0: flaky")

		c.enqueue(job.MaxAttempts(1))
		c.fetchOne()
		got = nil
		seconds(31)
		if again := c.fetch(job.Fetch{}); len(again.Jobs) > 0 {
			t.Errorf("fetched %d jobs that are out of attempts", len(again.Jobs))
		}
		want("its process died", "discarded ruby-1 note attempt 2 wait 0s elapsed 0s delay 0s then 0: "+
			"the process died once while it ran the job, which is out of attempts (1)")

		c.enqueue()
		fetched := c.fetch(job.Fetch{})
		got = nil
		c.must(c.claimer.Release(c.ctx, fetched))
		want("released")
	})
}
