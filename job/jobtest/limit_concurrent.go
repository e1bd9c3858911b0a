package jobtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var limitConcurrentPromises = []promise{
	// With five keys the limit of the queue is reached first; with two, the limits of the keys, which add up to less than that of
	// the queue.
	{"workers at once keep to the limits", func(f *fixture) {
		const inQueue, ofKey = 6, 2
		f.limit(job.Limits{Running: inQueue, EachKey: job.KeyLimits{Running: ofKey}})
		for _, keys := range []int{5, 2} {
			f.runAtOnce(keys, inQueue, ofKey)
		}
	}},
	{"limits that are set beside claims count what those take", func(f *fixture) {
		for round := range 10 {
			queue := fmt.Sprint("q", round)
			for range 8 {
				f.insert(f.job(job.Queue(queue)), f.job(job.Queue(queue)))
			}
			var mu sync.Mutex
			total, last := 0, 0
			claim := func(ctx context.Context, worker string, n int) (int, error) {
				got, err := f.Claim(ctx, job.Claim{Worker: worker, Session: sessionOf(worker), Queues: queues(n, queue), Limit: n, Lease: long})
				mu.Lock()
				defer mu.Unlock()
				total += len(got.Jobs)
				return len(got.Jobs), err
			}
			err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
				for w := range round % 4 {
					meanwhile.Go(ctx, func(ctx context.Context) error {
						_, err := claim(ctx, fmt.Sprint("w", w), 1)
						return err
					})
				}
				if err := f.SetLimits(ctx, queue, job.Limits{Running: 2}); err != nil {
					return err
				}
				var err error
				last, err = claim(ctx, "last", 10)
				return err
			})
			if err != nil {
				f.Fatal(err)
			}
			if last > 0 && total > 2 {
				f.Fatalf("%d jobs are running, of which %d were claimed with a limit of 2", total, last)
			}
		}
	}},
	{"after random actions what runs is what the limits allow", func(f *fixture) {
		for seed := range uint64(4) {
			a := &limitActions{
				fixture: f, rand: rand.New(rand.NewPCG(seed, 3)), queue: fmt.Sprint("q", seed), held: map[job.ID]*job.Job{}, own: map[string]job.KeyLimits{},
				discarded: map[job.ID]*job.Job{},
			}
			for range 60 {
				a.step()
			}
		}
	}},
	{"after random actions no job in order runs that a discarded one holds, and all others do", func(f *fixture) {
		for seed := range uint64(3) {
			a := &limitActions{
				fixture: f, rand: rand.New(rand.NewPCG(seed, 4)), queue: fmt.Sprint("q", seed), held: map[job.ID]*job.Job{}, own: map[string]job.KeyLimits{},
				discarded: map[job.ID]*job.Job{}, holding: true,
			}
			a.setLimits()
			for range 50 {
				switch a.rand.IntN(8) {
				case 0:
					a.discard()
				case 1:
					a.release()
				case 2, 3:
					a.claim()
				default:
					a.step()
				}
			}
		}
	}},
}

// runAtOnce has four workers insert and run jobs of several keys, and tests that they stay within the limits.
func (f *fixture) runAtOnce(keys, inQueue, ofKey int) {
	f.Helper()
	const workers, jobs = 4, 60
	var mu sync.Mutex
	running, done := map[string]int{}, 0
	add := func(j *job.Job, n int) {
		mu.Lock()
		defer mu.Unlock()
		running[j.LimitKey] += n
		running["all"] += n
		if running["all"] > inQueue || running[j.LimitKey] > ofKey {
			f.Errorf("%d jobs are running, %d of them of key %s", running["all"], running[j.LimitKey], j.LimitKey)
		}
	}
	finished := func() int {
		mu.Lock()
		defer mu.Unlock()
		return done
	}
	work := func(ctx context.Context, w int) error {
		name, rng := fmt.Sprint("w", w), rand.New(rand.NewPCG(7, uint64(w)))
		for range jobs / workers {
			if _, err := f.Insert(ctx, f.job(job.LimitKey(fmt.Sprint(rng.IntN(keys))))); err != nil {
				return err
			}
		}
		for finished() < jobs {
			got, err := f.Claim(ctx, job.Claim{Worker: name, Session: sessionOf(name), Queues: queues(4, job.DefaultQueue), Limit: 4, Lease: long})
			if err != nil {
				return err
			}
			for _, j := range got.Jobs {
				add(j, 1)
			}
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			for _, j := range got.Jobs {
				if j.State = job.Completed; rng.IntN(3) == 0 {
					j.State = job.Queued
				}
				add(j, -1)
			}
			if _, err := f.Settle(ctx, sessionOf(name), job.Outcomes(got.Jobs...)...); err != nil {
				return err
			}
			mu.Lock()
			for _, j := range got.Jobs {
				if j.State == job.Completed {
					done++
				}
			}
			mu.Unlock()
		}
		return nil
	}
	err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
		for w := range workers {
			meanwhile.Go(ctx, func(ctx context.Context) error { return work(ctx, w) })
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// limitActions are random actions on a queue with limits, beside a simple model that keeps each running job.
type limitActions struct {
	*fixture
	rand    *rand.Rand
	queue   string
	limits  job.Limits
	own     map[string]job.KeyLimits
	held    map[job.ID]*job.Job
	holding bool // in most steps, the limits let discarded jobs hold their keys
	// discarded are the discarded jobs that hold their keys: those behind them wait.
	discarded map[job.ID]*job.Job
}

func (a *limitActions) step() {
	a.Helper()
	switch a.rand.IntN(9) {
	case 8:
		key := []string{"a", "b"}[a.rand.IntN(2)]
		a.own[key] = job.KeyLimits{Running: a.rand.IntN(4), Weight: a.rand.IntN(4)} // all zero: no limits of its own
		if err := a.SetKeyLimits(a.ctx, a.queue, key, a.own[key]); err != nil {
			a.Fatal(err)
		}
	case 0:
		a.setLimits()
	case 1, 2, 3:
		for range a.rand.IntN(4) {
			a.insertNew(job.Queue(a.queue), job.LimitKey([]string{"", "a", "b", "c"}[a.rand.IntN(4)]), job.Priority(4+a.rand.IntN(2)))
		}
	case 4, 5:
		a.end()
	case 6:
		queued := a.list(job.Filter{Queues: []string{a.queue}, States: []job.State{job.Queued}})
		if len(queued) > 0 {
			a.remove(queued[0].ID)
		}
	default:
		a.claim()
	}
}

// setLimits sets random limits.
func (a *limitActions) setLimits() {
	a.Helper()
	before := a.limits
	a.limits = job.Limits{Running: a.rand.IntN(6), EachKey: job.KeyLimits{Running: a.rand.IntN(3), Weight: a.rand.IntN(3)}}
	switch n := a.rand.IntN(3); {
	case a.holding:
		a.limits.EachKey = job.KeyLimits{InOrder: true, HoldOnDiscard: n > 0}
	case n == 0:
		a.limits.EachKey = job.KeyLimits{InOrder: true}
	}
	if a.limits.EachKey.HoldOnDiscard != before.EachKey.HoldOnDiscard {
		clear(a.discarded)
	}
	if err := a.SetLimits(a.ctx, a.queue, a.limits); err != nil {
		a.Fatal(err)
	}
}

// end settles one of the running jobs.
func (a *limitActions) end() {
	a.Helper()
	held := slices.SortedFunc(func(yield func(*job.Job) bool) {
		for _, j := range a.held {
			if !yield(j) {
				return
			}
		}
	}, func(x, y *job.Job) int { return compare(x.ID, y.ID) })
	if len(held) == 0 {
		return
	}
	j := held[a.rand.IntN(len(held))]
	delete(a.held, j.ID)
	j.State = []job.State{job.Queued, job.Completed, job.Discarded, job.Canceled}[a.rand.IntN(4)]
	a.settle("w", j)
	a.noteDiscarded(j)
}

// discard discards a queued job.
func (a *limitActions) discard() {
	a.Helper()
	queued := a.list(job.Filter{Queues: []string{a.queue}, States: []job.State{job.Queued}})
	if len(queued) == 0 {
		return
	}
	j := queued[a.rand.IntN(len(queued))]
	a.apply(job.ActionDiscard, j.ID)
	a.noteDiscarded(a.read(j.ID))
}

// noteDiscarded records a discarded job if it holds its key.
func (a *limitActions) noteDiscarded(j *job.Job) {
	if j.State == job.Discarded && a.limits.EachKey.HoldOnDiscard {
		a.discarded[j.ID] = j
	}
}

// release retries or deletes a discarded job.
func (a *limitActions) release() {
	a.Helper()
	found := a.list(job.Filter{Queues: []string{a.queue}, States: []job.State{job.Discarded}})
	if len(found) == 0 {
		return
	}
	id := found[a.rand.IntN(len(found))].ID
	a.apply([]job.Action{job.ActionRetry, job.ActionDelete}[a.rand.IntN(2)], id)
	delete(a.discarded, id)
}

// holds reports whether a discarded job that holds the key was created before j.
func (a *limitActions) holds(j *job.Job) bool {
	for _, d := range a.discarded {
		if j.LimitKey != "" && d.LimitKey == j.LimitKey && createdBefore(d, j) {
			return true
		}
	}
	return false
}

// createdBefore reports whether a comes before b in the order of their key.
func createdBefore(a, b *job.Job) bool {
	return a.Created.Before(b.Created) || a.Created.Equal(b.Created) && compare(a.ID, b.ID) < 0
}

// atOnce returns how many jobs of a key may run at once; zero is no limit.
func (a *limitActions) atOnce(key string) int {
	of := a.limits.EachKey
	if own := a.own[key]; own != (job.KeyLimits{}) {
		of.Running = own.Running
	}
	switch {
	case key == "":
		return 0
	case of.InOrder:
		return 1
	}
	return of.Running
}

// claim claims jobs, and tests that it gets as many as the limits allow, no more and no fewer.
func (a *limitActions) claim() {
	a.Helper()
	n := 1 + a.rand.IntN(6)
	got := a.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(n, a.queue), Limit: n, Lease: long}).Jobs
	for _, j := range got {
		a.held[j.ID] = j
	}
	running := map[string]int{}
	for _, j := range a.held {
		running[j.LimitKey]++
	}
	open := 0 // jobs that the claim could also have returned
	for _, j := range a.list(job.Filter{Queues: []string{a.queue}, States: []job.State{job.Queued}}) {
		if a.holds(j) {
			continue
		}
		if most := a.atOnce(j.LimitKey); most == 0 || running[j.LimitKey] < most {
			open++
		}
	}
	most := a.limits.Running
	if len(got) < n && open > 0 && (most == 0 || len(a.held) < most) {
		a.Fatalf("claimed %d of up to %d, with %d running and %d more allowed by the limits %+v and %+v", len(got), n, len(a.held), open, a.limits, a.own)
	}
	if len(got) > 0 && most > 0 && len(a.held) > most {
		a.Fatalf("%d jobs are running, with a limit of %d", len(a.held), most)
	}
	for _, j := range got {
		if most := a.atOnce(j.LimitKey); most > 0 && running[j.LimitKey] > most {
			a.Fatalf("%d jobs of key %s are running, with a limit of %d", running[j.LimitKey], j.LimitKey, most)
		}
		if a.holds(j) {
			a.Fatalf("job %[2]v of key %[1]s was claimed, but one before it is discarded and holds the key", j.LimitKey, j.ID)
		}
		for _, q := range a.list(job.Filter{Queues: []string{a.queue}, States: []job.State{job.Queued}}) {
			if a.limits.EachKey.InOrder && j.LimitKey != "" && q.LimitKey == j.LimitKey && createdBefore(q, j) {
				a.Fatalf("of key %s, job %v was claimed, but %v was enqueued before it", j.LimitKey, j.ID, q.ID)
			}
		}
	}
}
