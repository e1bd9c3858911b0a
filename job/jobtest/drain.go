package jobtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Drained counts the attempts of a [Drain] by outcome.
type Drained struct {
	Completed, Retried, Snoozed, Canceled, Discarded int
}

// Drain runs the due jobs of a store in all queues that are not paused, also those that become due while it runs, and returns
// when no job is due and none that it claimed is running. Jobs that are due later, such as retried ones, stay. It runs a worker
// with the handlers; use [DrainFor] to continue with later jobs. The test ends if the store fails, or if a handler or a task of
// it calls t.Fatal, t.FailNow, t.Skip or runtime.Goexit; running jobs are then canceled.
func Drain(t testing.TB, store job.Store, handlers ...job.Handler) Drained {
	t.Helper()
	d := &drain{store: store, handlers: handlers}
	d.due(t)
	return d.done
}

// DrainFor is [Drain], and continues with jobs that become due within a duration from now: it sleeps until the next job is due. Jobs without a handler
// stay.
// It is meant for testing/synctest with a store in memory, where sleeping takes no time.
func DrainFor(t testing.TB, store job.Store, within time.Duration, handlers ...job.Handler) Drained {
	t.Helper()
	d := &drain{store: store, handlers: handlers}
	for end := time.Now().Add(within); ; {
		d.due(t)
		next, ok := d.next(t)
		if !ok || next.After(end) {
			return d.done
		}
		select {
		case <-time.After(max(time.Until(next), time.Millisecond)):
		case <-t.Context().Done():
			t.Fatal("jobtest.DrainFor: the test is over")
		}
	}
}

type drain struct {
	store    job.Store
	handlers []job.Handler
	kinds    []string // of the handlers, as the worker claims them

	mu   sync.Mutex
	done Drained
}

// due runs a worker on all queues that exist, and again as long as new queues appear.
func (d *drain) due(t testing.TB) {
	t.Helper()
	var known []job.QueueConfig
	for {
		infos, err := d.store.Queues(t.Context())
		if err != nil {
			t.Fatalf("jobtest.Drain: %v", err)
		}
		before := len(known)
		for _, q := range infos {
			if config := (job.QueueConfig{Name: q.Name}); !slices.Contains(known, config) {
				known = append(known, config)
			}
		}
		if len(known) == before {
			return
		}
		d.work(t, known)
	}
}

// work runs a worker until nothing is due in its queues.
func (d *drain) work(t testing.TB, queues []job.QueueConfig) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	idle := &untilIdle{Store: d.store, idle: cancel, held: map[job.ID]bool{}}
	left := goexit{stop: cancel}
	config := job.Config{
		Queues: queues, Logger: logger(t), Grace: -1,
		Observe: func(e job.Event) {
			d.count(e)
			left.observe(e)
		},
		Retention: map[job.State]time.Duration{}, // this worker does not prune
	}
	if err := job.NewWorker(idle, config, d.handlers...).Run(ctx); err != nil {
		t.Fatalf("jobtest.Drain: %v", err)
	}
	d.kinds = idle.kinds
	left.endTest(t, "jobtest.Drain")
}

func (d *drain) count(e job.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e.Kind {
	case job.JobCompleted:
		d.done.Completed++
	case job.JobRetried:
		d.done.Retried++
	case job.JobSnoozed:
		d.done.Snoozed++
	case job.JobCanceled:
		d.done.Canceled++
	case job.JobDiscarded:
		d.done.Discarded++
	}
}

// next returns when the first job that has a handler, of the queues that are not paused, is due.
func (d *drain) next(t testing.TB) (time.Time, bool) {
	t.Helper()
	infos, err := d.store.Queues(t.Context())
	if err != nil {
		t.Fatalf("jobtest.DrainFor: %v", err)
	}
	filter := job.Filter{States: []job.State{job.Queued}, Kinds: d.kinds}
	for _, q := range infos {
		if !q.Paused {
			filter.Queues = append(filter.Queues, q.Name)
		}
	}
	if len(filter.Queues) == 0 || len(d.kinds) == 0 {
		return time.Time{}, false
	}
	var first time.Time
	for j, err := range job.List(t.Context(), d.store, filter) {
		if err != nil {
			t.Fatalf("jobtest.DrainFor: %v", err)
		}
		if first.IsZero() || j.RunAt.Before(first) {
			first = j.RunAt
		}
	}
	return first, !first.IsZero()
}

// An untilIdle is the store of a worker that stops when no job is due and it holds none.
type untilIdle struct {
	job.Store
	idle func()

	mu      sync.Mutex
	kinds   []string
	held    map[job.ID]bool
	settled bool   // all claimed jobs are settled, so the worker has to claim again
	wake    func() // ends the wait
}

func (u *untilIdle) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	u.mu.Lock()
	before := len(u.held)
	u.kinds = c.Kinds
	u.mu.Unlock()
	got, err := u.Store.Claim(ctx, c)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, j := range got.Jobs {
		u.held[j.ID] = true
	}
	// Jobs that were running when the claim started may have enqueued others since.
	if err == nil && before == 0 && len(u.held) == 0 {
		u.idle()
	}
	return got, err
}

func (u *untilIdle) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	lost, err := u.Store.Settle(ctx, session, outcomes...)
	if err != nil {
		return lost, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, o := range outcomes {
		if o.Job.State != job.Running {
			delete(u.held, o.Job.ID)
		}
	}
	if len(u.held) == 0 {
		u.settled = true
		if u.wake != nil {
			u.wake()
		}
	}
	return lost, nil
}

// Wait also returns when all claimed jobs are settled.
func (u *untilIdle) Wait(ctx context.Context, queues ...string) ([]string, error) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	u.mu.Lock()
	if u.settled {
		cancel()
	}
	u.settled, u.wake = false, cancel
	u.mu.Unlock()
	due, err := u.Store.Wait(call, queues...)
	if err != nil && call.Err() != nil && ctx.Err() == nil {
		u.mu.Lock()
		u.settled = false
		u.mu.Unlock()
		return queues, nil
	}
	return due, err
}
