package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/retry"
)

// unreliable is a store whose calls fail at random: some before they have an effect, some after it, so that only the answer is lost. Some take
// long.
type unreliable struct {
	job.Store
	mu     sync.Mutex
	random *rand.Rand
	share  float64   // the share of calls that fail
	cut    time.Time // until then all calls fail
}

var errInjected = errors.New("injected")

// draw draws what happens to a call.
func (u *unreliable) draw() (before, after bool, delay time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.share > 0 && u.random.IntN(200) == 0 {
		u.cut = time.Now().Add(10 * time.Second)
	}
	switch x := u.random.Float64(); {
	case time.Now().Before(u.cut):
		before = true
	case x < u.share/2:
		before = true
	case x < u.share:
		after = true
	case x < u.share*1.2:
		delay = time.Duration(u.random.IntN(3000)) * time.Millisecond
	}
	return before, after, delay
}

func tried[T any](ctx context.Context, u *unreliable, call func() (T, error)) (T, error) {
	var none T
	before, after, delay := u.draw()
	if before {
		return none, errInjected
	}
	if err := meanwhile.Sleep(ctx, delay); err != nil {
		return none, err
	}
	got, err := call()
	if after {
		return none, errInjected
	}
	return got, err
}

func (u *unreliable) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	return tried(ctx, u, func() (job.Claimed, error) { return u.Store.Claim(ctx, c) })
}

func (u *unreliable) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	return tried(ctx, u, func() (job.Renewed, error) { return u.Store.Renew(ctx, r) })
}

func (u *unreliable) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	return tried(ctx, u, func() ([]job.ID, error) { return u.Store.Settle(ctx, session, outcomes...) })
}

func (u *unreliable) Tick(ctx context.Context, t job.Tick) (bool, error) {
	return tried(ctx, u, func() (bool, error) { return u.Store.Tick(ctx, t) })
}

func (u *unreliable) Wait(ctx context.Context, queues ...string) ([]string, error) {
	return tried(ctx, u, func() ([]string, error) { return u.Store.Wait(ctx, queues...) })
}

// TestClaimsWithoutAnAnswer: the jobs of a claim whose answer was lost are returned by the next one, long before the lease is over. No attempt is
// lost, which matters for a kind that is run at most once.
func TestClaimsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		var ids []job.ID
		for range 30 {
			ids = append(ids, r.enqueue())
		}
		unheard := jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
			if c.Method == "Claim" && c.N%4 != 0 {
				return jobtest.Fault{After: errInjected}
			}
			return jobtest.Fault{}
		})
		r.startWorker(unheard, job.Config{Lease: time.Hour, Concurrency: 10}, job.Define[note]("note", job.AtMostOnce()).Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Sleep(ctx, time.Second)
		}))
		t.Cleanup(r.end)
		seconds(120)
		for _, id := range ids {
			if j := r.wantState(id, job.Completed); j.Attempt != 1 || j.Crashed != 0 {
				t.Errorf("attempt %d, crashed %d; want 1 and 0", j.Attempt, j.Crashed)
			}
		}
	})
}

// TestALeaseThatRanOutIsAnotherSession: after the store was unreachable for longer than a lease, the worker continues with a new session, so that
// the jobs that it has given up are run again.
func TestALeaseThatRanOutIsAnotherSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		var away atomic.Bool
		var mu sync.Mutex
		sessions := map[job.Session]bool{}
		store := &sessionSpy{Store: jobtest.Faulty(r.store, func(jobtest.Call) jobtest.Fault {
			if away.Load() {
				return jobtest.Fault{Before: errInjected}
			}
			return jobtest.Fault{}
		}), saw: func(s job.Session) {
			mu.Lock()
			defer mu.Unlock()
			sessions[s] = true
		}}
		r.startWorker(store, job.Config{Lease: 10 * time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Sleep(ctx, 30*time.Second)
		}))
		t.Cleanup(r.end)
		id := r.enqueue()
		seconds(3.5)
		away.Store(true)
		seconds(15)
		away.Store(false)
		seconds(60)
		if j := r.wantState(id, job.Completed); j.Attempt != 2 || j.Crashed != 1 {
			t.Errorf("attempt %d, crashed %d; want 2 and 1", j.Attempt, j.Crashed)
		}
		if len(sessions) < 2 {
			t.Errorf("there were %d sessions, want another one after the outage", len(sessions))
		}
	})
}

type sessionSpy struct {
	job.Store
	saw func(job.Session)
}

func (s *sessionSpy) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	s.saw(r.Session)
	return s.Store.Renew(ctx, r)
}

// TestWorkersOnAnUnreliableStore injects faults between any two steps of two workers, and checks what must hold nevertheless.
func TestWorkersOnAnUnreliableStore(t *testing.T) {
	for seed := range uint64(testenv.Rounds(4, 8)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				testUnreliable(t, seed, store, func(unreliably func(job.Store) *unreliable) job.Store { return unreliably(store) })
			})
		})
	}
}

// testUnreliable runs workers on the store that open returns for store, or for the stores that it consists of, each made unreliable by the function
// unreliably.
func testUnreliable(t *testing.T, seed uint64, store job.Store, open func(unreliably func(job.Store) *unreliable) job.Store) {
	const jobs = 300
	var mu sync.Mutex
	running := map[job.ID]int{}
	runs := map[job.ID]int{}
	settled := map[string]int{} // by job and attempt
	ticks := map[string]int{}
	random := rand.New(rand.NewPCG(seed, 1))
	handler := job.Define[note]("note", job.Backoff(second)).Handle(func(ctx context.Context, n note) error {
		j, _ := job.FromContext(ctx)
		mu.Lock()
		if running[j.ID]++; running[j.ID] > 1 {
			t.Errorf("job %v runs twice at once", j.ID)
		}
		runs[j.ID]++
		if n.Text != "hello" {
			ticks[n.Text]++
		}
		length := time.Duration(random.IntN(9000)) * time.Millisecond
		fails := random.IntN(4) == 0
		mu.Unlock()
		err := meanwhile.Sleep(ctx, length)
		mu.Lock()
		defer mu.Unlock()
		running[j.ID]--
		if err == nil && fails {
			err = errFlaky
		}
		return err
	})
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var stores []*unreliable
	for i := range 2 {
		opened := open(func(s job.Store) *unreliable {
			u := &unreliable{Store: s, random: rand.New(rand.NewPCG(seed, uint64(len(stores)+2))), share: 0.3}
			stores = append(stores, u)
			return u
		})
		config := job.Config{
			Name: fmt.Sprint("worker", i), Lease: 6 * time.Second, Concurrency: 20, Logger: slog.New(slog.DiscardHandler),
			Crons: []job.Cron{{Name: "c", Spec: "@every 30s", Job: func(at time.Time) (*job.Job, error) {
				return noteKind.New(note{at.Format(time.RFC3339)}, job.MaxAttempts(1000))
			}, CatchUp: job.CatchUpAll}},
			Observe: func(e job.Event) {
				switch e.Kind {
				case job.JobCompleted, job.JobRetried, job.JobDiscarded, job.JobCanceled:
					mu.Lock()
					defer mu.Unlock()
					key := fmt.Sprint(e.Job.ID, " ", e.Job.Attempt)
					if settled[key]++; settled[key] > 1 {
						t.Errorf("attempt %s was settled twice", key)
					}
				}
			},
		}
		group.Go(func() {
			if err := job.NewWorker(opened, config, handler).Run(ctx); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	var ids []job.ID
	pause := rand.New(rand.NewPCG(seed, 9))
	for range jobs {
		done, err := noteKind.Enqueue(ctx, store, note{"hello"}, job.MaxAttempts(1000))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, done.ID)
		time.Sleep(time.Duration(pause.IntN(500)) * time.Millisecond)
	}
	for _, u := range stores {
		u.mu.Lock()
		u.share = 0
		u.mu.Unlock()
	}
	time.Sleep(10 * time.Minute)
	stop()
	group.Wait()
	for _, id := range ids {
		j, err := job.Find(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		if j.State != job.Completed || runs[id] == 0 {
			t.Errorf("job %v is %s after %d runs", id, j.State, runs[id])
		}
	}
	infos, err := store.Crons(t.Context())
	if err != nil || len(infos) != 1 {
		t.Fatalf("crons %v, %v", infos, err)
	}
	first := time.Time{}
	for text := range ticks {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	want := int(infos[0].Last.Sub(first)/(30*time.Second)) + 1
	if len(ticks) < want-1 || len(ticks) > want { // the last may not have run
		t.Errorf("%d ticks ran between %v and %v, want %d", len(ticks), first, infos[0].Last, want)
	}
}

// refusing is a store that never accepts the outcome of one kind of job, nor a batch that contains one.
type refusing struct{ job.Store }

func (r refusing) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	for _, o := range outcomes {
		if o.Job.Kind == "poison" {
			return nil, errInjected
		}
	}
	return r.Store.Settle(ctx, session, outcomes...)
}

// TestAJobThatTheStoreRefusesHoldsUpNoOther: the outcome of one job cannot be written.
func TestAJobThatTheStoreRefusesHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &rig{T: t, ctx: t.Context(), store: store, ended: make(chan error, 1)}
		poison := job.Define[note]("poison")
		r.startWorker(refusing{store}, job.Config{Lease: 30 * time.Second},
			noteKind.Handle(func(context.Context, note) error { return nil }),
			poison.Handle(func(context.Context, note) error { return nil }))
		bad, err := poison.Enqueue(r.ctx, store, note{}, job.MaxAttempts(2))
		if err != nil {
			t.Fatal(err)
		}
		seconds(1)
		good := r.enqueue()
		seconds(10)
		r.wantState(good, job.Completed)
		r.wantState(bad.ID, job.Running)
		seconds(40)
		if j := r.wantState(bad.ID, job.Running); j.Crashed != 1 {
			t.Errorf("crashed %d, want 1: the job is given up after a lease, and then run again", j.Crashed)
		}
		r.end()
	})
}

// TestWorkerStopsWhileTheStoreIsAway stops a worker that cannot write the outcome of its job.
func TestWorkerStopsWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		cut := &cutOff{Store: store}
		r := &rig{T: t, ctx: t.Context(), store: store, ended: make(chan error, 1)}
		r.startWorker(cut, job.Config{}, noteKind.Handle(func(ctx context.Context, _ note) error { return meanwhile.Sleep(ctx, time.Second) }))
		r.enqueue()
		seconds(0.5)
		cut.set(true)
		begun := time.Now()
		r.end()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %v to stop", took)
		}
	})
}

// A hearsay store executes a call a moment later, even if nobody waits for it any more, as a server does that has received the statement of a
// canceled call.
type hearsay struct {
	job.Store
	calls sync.WaitGroup
}

func (h *hearsay) Renew(ctx context.Context, r job.Renewal) (got job.Renewed, err error) {
	over := make(chan struct{})
	h.calls.Go(func() {
		defer close(over)
		time.Sleep(300 * time.Millisecond)
		got, err = h.Store.Renew(context.WithoutCancel(ctx), r)
	})
	select {
	case <-over:
		return got, err
	case <-ctx.Done():
		return job.Renewed{}, context.Cause(ctx)
	}
}

// TestWorkerIsNotListedOnceItHasLeft: a worker that was listed again after it had left would stay listed for a day.
func TestWorkerIsNotListedOnceItHasLeft(t *testing.T) {
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 350 * time.Millisecond, 1100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := &hearsay{Store: memory.New()}
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second+after)
			defer stop()
			if err := job.NewWorker(s, job.Config{Logger: slog.New(slog.DiscardHandler)}).Run(ctx); err != nil {
				t.Error(err)
			}
			s.calls.Wait()
			if workers, err := s.Workers(t.Context()); err != nil || len(workers) > 0 {
				t.Errorf("stopped after %v: %d workers are listed: %v", after, len(workers), err)
			}
		})
	}
}

// A belated store answers some time after it was called, and reads the state in the middle of that time. This applies to renewals and to writes
// about running jobs.
type belated struct {
	job.Store
	delay time.Duration
}

func (b belated) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	time.Sleep(b.delay / 2)
	defer time.Sleep(b.delay / 2)
	return b.Store.Renew(ctx, r)
}

func (b belated) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if outcomes[0].Job.State == job.Running {
		time.Sleep(b.delay / 2)
		defer time.Sleep(b.delay / 2)
	}
	return b.Store.Settle(ctx, session, outcomes...)
}

// TestAnswerAboutTheAttemptBefore: if an attempt ends while the store is asked about it, the store reports that the attempt is not held any more.
// By then the next attempt of the job may run in the same worker.
func TestAnswerAboutTheAttemptBefore(t *testing.T) {
	tests := []struct {
		name  string
		lease time.Duration
		write bool // progress
	}{
		{"renew", 3 * time.Second, false},
		{"progress", time.Minute, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cause error
				r := newIdleRig(t)
				r.startWorker(belated{r.store, 500 * time.Millisecond}, job.Config{Lease: test.lease}, noteKind.Handle(func(ctx context.Context, _ note) error {
					if test.write {
						job.Progress(ctx, 1, 2)
					}
					if j, _ := job.FromContext(ctx); j.Attempt%2 == 1 {
						_ = meanwhile.Sleep(ctx, 170*time.Millisecond)
						return job.Snooze(150 * time.Millisecond)
					} else if j.Attempt == 60 {
						return nil
					}
					if err := meanwhile.Sleep(ctx, 2200*time.Millisecond); err != nil {
						cause = context.Cause(ctx)
					}
					return job.Snooze(0)
				}))
				t.Cleanup(r.end)
				id := r.enqueue()
				seconds(90)
				if cause != nil {
					t.Errorf("an attempt was canceled: %v", cause)
				}
				if j := r.wantState(id, job.Completed); j.Crashed > 0 {
					t.Errorf("the job crashed %d times", j.Crashed)
				}
			})
		})
	}
}

// A hangingStore does not answer the ping of a worker before its ctx ends.
type hangingStore struct{ job.Store }

func (hangingStore) Ping(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("ping: %w", ctx.Err())
}

// TestWorkerStopsBeforeItsStoreAnswers: stopping a worker is not an error, however early it happens.
func TestWorkerStopsBeforeItsStoreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		r.startWorker(hangingStore{r.store}, job.Config{})
		seconds(60)
		r.stop()
		if err := <-r.ended; err != nil {
			t.Errorf("the worker ended with %v, want nil", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		store := jobtest.Faulty(memory.New(), func(jobtest.Call) jobtest.Fault { return jobtest.Fault{Before: errFlaky} })
		if err := job.NewWorker(store, job.Config{}).Run(t.Context()); !errors.Is(err, errFlaky) {
			t.Errorf("a worker whose store answers with an error ended with %v, want %v", err, errFlaky)
		}
	})
}

// forgetStoreEvents forgets the events about the store itself.
func (r *rig) forgetStoreEvents() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = slices.DeleteFunc(r.events, func(e string) bool { return strings.HasPrefix(e, "store ") })
}

// completedJobs returns how many completed jobs the store has counted.
func (r *rig) completedJobs() (n int) {
	r.Helper()
	stats, err := r.store.Stats(r.ctx, job.StatsFilter{})
	r.must(err)
	for _, s := range stats {
		n += int(s.Completed)
	}
	return n
}

// TestTheAnswerToAnOutcomeIsLost: the store has written the outcome and the worker gets an error, so it writes the outcome again, in vain.
func TestTheAnswerToAnOutcomeIsLost(t *testing.T) {
	for name, test := range map[string]struct {
		err   error // of the handler
		state job.State
		event string
	}{
		"completes": {nil, job.Completed, "completed"},
		"retries":   {retry.After(errFlaky, time.Hour), job.Queued, "retried: flaky again in 1h0m0s"},
		"discards":  {retry.Permanent(errFlaky), job.Discarded, "discarded: flaky"},
	} {
		for _, lost := range []int{1, 5} { // answers; after three the outcomes are written one by one
			t.Run(fmt.Sprint(name, " ", lost), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newIdleRig(t)
					r.startWorker(jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
						if c.Method == "Settle" && c.N <= lost {
							return jobtest.Fault{After: errInjected}
						}
						return jobtest.Fault{}
					}), job.Config{}, noteKind.Handle(func(context.Context, note) error { return test.err }))
					t.Cleanup(r.end)
					id := r.enqueue()
					seconds(20)
					r.wantState(id, test.state)
					r.forgetStoreEvents()
					r.wantEvents("started", test.event)
					if n := r.completedJobs(); n != map[job.State]int{job.Completed: 1}[test.state] {
						t.Errorf("%d completed jobs are counted for one that is %s", n, test.state)
					}
				})
			})
		}
	}
}

// An overtaken store writes nothing at the first Settle of an attempt, whose lease ends there: another worker completes the job.
type overtaken struct {
	job.Store
	calls int
}

func (o *overtaken) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if o.calls++; o.calls > 1 {
		return o.Store.Settle(ctx, session, outcomes...)
	}
	other := job.NewSession()
	var got job.Claimed
	for len(got.Jobs) == 0 { // the worker may renew its lease in between
		err := o.Store.Leave(ctx, outcomes[0].Job.Worker, session)
		if err == nil {
			got, err = o.Store.Claim(ctx, job.Claim{
				Worker: "other", Session: other, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute, Expired: true,
			})
		}
		if err != nil {
			return nil, err
		}
	}
	got.Jobs[0].State = job.Completed
	if _, err := o.Store.Settle(ctx, other, job.Outcomes(got.Jobs...)...); err != nil {
		return nil, err
	}
	return nil, errInjected
}

// TestTheOutcomeOfAnotherWorkerIsNotOurs: after a call that failed the worker finds its job settled by another one.
func TestTheOutcomeOfAnotherWorkerIsNotOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		r.startWorker(&overtaken{Store: r.store}, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		t.Cleanup(r.end)
		id := r.enqueue()
		seconds(10)
		if j := r.wantState(id, job.Completed); j.Worker != "other" || j.Attempt != 2 {
			t.Errorf("completed by %s at attempt %d, want the other worker at 2", j.Worker, j.Attempt)
		}
		r.forgetStoreEvents()
		r.wantEvents("started", "lost: the lease of the job was lost: another worker may be running it")
		if n := r.completedJobs(); n != 0 {
			t.Errorf("%d completed jobs are counted, want none of this worker", n)
		}
	})
}
