package jobtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var concurrentPromises = []promise{
	{"workers at once claim each job once", func(f *fixture) {
		const workers, jobs = 6, 300
		l := newLedger()
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for w := range workers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					a := &actor{fixture: f, ledger: l, name: fmt.Sprint("w", w), session: job.NewSession(), rand: rand.New(rand.NewPCG(1, uint64(w)))}
					for range jobs / workers / 5 {
						if err := a.insert(ctx, f.job(), f.job(), f.job(), f.job(), f.job()); err != nil {
							return err
						}
					}
					for l.settledFinally() < jobs {
						if err := a.claim(ctx, false, long); err != nil {
							return err
						}
						if err := a.settle(ctx, job.Completed, len(a.held)); err != nil {
							return err
						}
						if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		l.check(f)
		f.counts(job.Count{Queue: job.DefaultQueue, Kind: "k", State: job.Completed, N: jobs})
	}},
	{"inserts at once of one unique key store one job", func(f *fixture) {
		const callers, rounds = 6, 10
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for range callers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					for round := range rounds {
						if _, err := f.Insert(ctx, f.job(), f.job(job.Unique(fmt.Sprint(round))), f.job(job.Unique("all"))); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		if n, want := len(f.list(job.Filter{})), callers*rounds+rounds+1; n != want {
			f.Errorf("%d jobs are stored, want %d", n, want)
		}
	}},
	{"an insert that fails spoils none at the same time", func(f *fixture) {
		there := f.insertNew()
		const callers, times = 6, 10
		// Several rounds, so that callers insert during a failure and after one, however they are scheduled.
		for range times {
			err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
				for i := range callers {
					meanwhile.Go(ctx, func(ctx context.Context) error {
						a, b := f.job(), f.job()
						if i == 0 {
							b.ID = there.ID
						}
						if _, err := f.Insert(ctx, a, b); (err != nil) != (i == 0) {
							return fmt.Errorf("insert by caller %d returned %v", i, err)
						}
						return nil
					})
				}
				return nil
			})
			if err != nil {
				f.Fatal(err)
			}
		}
		if n, want := len(f.list(job.Filter{})), 2*(callers-1)*times+1; n != want {
			f.Errorf("%d jobs are stored, want %d", n, want)
		}
	}},
	{"workers that come, die and go on too late lose nothing", func(f *fixture) {
		seed := rand.Uint64()
		f.Logf("seed %d", seed)
		l := newLedger()
		over := make(chan struct{})
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error { return watchKeys(ctx, f.Store, over) })
			err := meanwhile.Run(ctx, func(ctx context.Context) error {
				for w := range 6 {
					meanwhile.Go(ctx, func(ctx context.Context) error {
						a := &actor{fixture: f, ledger: l, name: fmt.Sprint("w", w), session: job.NewSession(), rand: rand.New(rand.NewPCG(seed, uint64(w)))}
						for range 60 {
							if err := a.step(ctx); err != nil {
								return err
							}
						}
						return nil
					})
				}
				return nil
			})
			close(over)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
		last := &actor{fixture: f, ledger: l, name: "last", session: job.NewSession(), rand: rand.New(rand.NewPCG(seed, 99))}
		f.eventually("all jobs to be finished", func() bool {
			if err := last.claim(f.ctx, true, long); err != nil {
				f.Fatal(err)
			}
			if err := last.settle(f.ctx, job.Completed, len(last.held)); err != nil {
				f.Fatal(err)
			}
			return len(f.list(job.Filter{States: []job.State{job.Queued, job.Running}})) == 0
		})
		l.check(f)
	}},
}

// An actor is a worker that runs random operations of workers and users, and records the answers in a ledger.
type actor struct {
	*fixture
	*ledger
	name    string
	session job.Session
	rand    *rand.Rand
	held    []*job.Job
}

// step runs one random operation.
func (a *actor) step(ctx context.Context) error {
	switch n := a.rand.IntN(100); {
	case n < 25:
		jobs := make([]*job.Job, 1+a.rand.IntN(5))
		for i := range jobs {
			jobs[i] = a.randomJob()
		}
		return a.insert(ctx, jobs...)
	case n < 50:
		return a.claim(ctx, a.rand.IntN(2) == 0, 2*short)
	case n < 75:
		states := append(finalStates, job.Queued, job.Queued, job.Running)
		return a.settle(ctx, states[a.rand.IntN(len(states))], 1+a.rand.IntN(4))
	case n < 83:
		return a.renew(ctx)
	case n < 93:
		return a.change(ctx)
	case n < 96: // crashes, and starts again
		a.held, a.session = nil, job.NewSession()
	default: // hangs until its leases may have expired, and continues
		return meanwhile.Sleep(ctx, a.upTo(4*short))
	}
	return nil
}

func (a *actor) randomJob() *job.Job {
	opts := []job.EnqueueOption{job.Queue([]string{"default", "b"}[a.rand.IntN(2)]), job.Priority(1 + a.rand.IntN(9))}
	if a.rand.IntN(3) == 0 {
		opts = append(opts, job.Unique(fmt.Sprint(a.rand.IntN(5))))
		if a.rand.IntN(2) == 0 {
			opts = append(opts, job.UniqueFor(a.upTo(2*short)))
		}
	}
	if a.rand.IntN(3) == 0 {
		opts = append(opts, job.In(a.upTo(short)))
	}
	return a.job(opts...)
}

func (a *actor) upTo(d time.Duration) time.Duration { return time.Duration(a.rand.Int64N(int64(d))) }

func (a *actor) insert(ctx context.Context, jobs ...*job.Job) error {
	ids, err := a.Insert(ctx, jobs...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if id == jobs[i].ID {
			a.inserted(id)
		}
	}
	return nil
}

func (a *actor) claim(ctx context.Context, expired bool, lease time.Duration) error {
	n := 1 + a.rand.IntN(8)
	claimed, err := a.Claim(ctx, job.Claim{Worker: a.name, Session: a.session, Queues: queues(n, "default", "b"), Limit: n, Lease: lease, Expired: expired})
	if err != nil {
		return err
	}
	if len(claimed.Jobs) > n {
		return fmt.Errorf("claimed %d jobs, the limit is %d", len(claimed.Jobs), n)
	}
	a.claimed(a.name, claimed)
	a.held = slices.DeleteFunc(a.held, func(j *job.Job) bool { return slices.Contains(ids(claimed.Jobs), j.ID) })
	a.held = append(a.held, claimed.Jobs...)
	return nil
}

func (a *actor) settle(ctx context.Context, state job.State, n int) error {
	jobs := a.held[:min(n, len(a.held))]
	for _, j := range jobs {
		j.State, j.RunAt, j.Delay = state, time.Time{}, a.upTo(short)
		if state == job.Queued && a.rand.IntN(4) == 0 {
			j.Queue, j.Delay = "b", 0
		}
	}
	lost, err := a.Settle(ctx, a.session, job.Outcomes(jobs...)...)
	if err != nil {
		return err
	}
	a.settled(jobs, lost)
	if state != job.Running {
		a.held = a.held[len(jobs):]
	}
	return nil
}

func (a *actor) renew(ctx context.Context) error {
	renewed, err := a.Renew(ctx, job.Renewal{Worker: a.name, Session: a.session, Lease: 2 * short, Jobs: ids(a.held), Info: workerInfo})
	if err != nil {
		return err
	}
	lost := map[job.ID]bool{}
	for _, id := range renewed.Lost {
		lost[id] = true
	}
	var held []*job.Job
	for _, j := range a.held {
		if !lost[j.ID] {
			held = append(held, j)
		}
	}
	a.held = held
	return nil
}

// change cancels, deletes or retries some jobs.
func (a *actor) change(ctx context.Context) error {
	found, err := a.List(ctx, job.Filter{Limit: 1 + a.rand.IntN(20)})
	if err != nil {
		return err
	}
	for _, j := range found {
		n := a.rand.IntN(10)
		if n >= 5 {
			continue
		}
		action, from, to := job.ActionDelete, []job.State(nil), job.State("")
		if n > 0 {
			switch {
			case j.State == job.Queued:
				action, from, to = job.ActionCancel, []job.State{job.Queued}, job.Canceled
			case j.State == job.Running:
				action, from, to = job.ActionCancel, []job.State{job.Running}, job.Running
			default:
				action, from, to = job.ActionRetry, finalStates, job.Queued
			}
		}
		done, err := a.Apply(ctx, job.Filter{IDs: []job.ID{j.ID}, States: from, Limit: 1}, action)
		if err != nil {
			return err
		}
		if done.Conflicts > 0 && action.To != job.Queued {
			return fmt.Errorf("%s of %v was a conflict", action, j.ID)
		}
		if done.Changed > 0 {
			a.changed(j.ID, to)
		}
	}
	return nil
}

// watchKeys checks repeatedly that no two unfinished jobs have the same unique key.
func watchKeys(ctx context.Context, store job.Store, over <-chan struct{}) error {
	for {
		select {
		case <-over:
			return nil
		case <-time.After(pause):
		}
		jobs, err := store.List(ctx, job.Filter{States: []job.State{job.Queued, job.Running}, Limit: 10000})
		if err != nil {
			return err
		}
		holders := map[string]*job.Job{}
		for _, j := range jobs {
			if other := holders[j.UniqueKey]; other != nil && strings.HasPrefix(j.UniqueKey, "k ") {
				return fmt.Errorf("jobs %v (%s) and %v (%s) both hold the unique key %q", j.ID, j.State, other.ID, other.State, j.UniqueKey)
			}
			holders[j.UniqueKey] = j
		}
	}
}
