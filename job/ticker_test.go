package job_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestACronThatFailsHoldsUpNoOther: a cron returns the same job at each tick, which the store accepts only once.
func TestACronThatFailsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same, err := noteKind.New(note{"same"})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, job.Config{Crons: []job.Cron{
			{Name: "broken", Spec: "@every 1m", Job: func(time.Time) (*job.Job, error) { return same, nil }},
			{Name: "good", Spec: "@every 1m", Job: noteKind.Maker(note{"good"})},
		}}, noteKind.Handle(func(context.Context, note) error { return nil }))
		seconds(10.5 * 60)
		made := map[string]int{}
		for j, err := range job.List(t.Context(), r.store, job.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			args, err := noteKind.Args(j)
			if err != nil {
				t.Fatal(err)
			}
			made[args.Text]++
		}
		if made["same"] != 1 || made["good"] < 9 {
			t.Errorf("got ticks %v, want 1 of the cron that fails, and 10 of the other", made)
		}
	})
}

// TestACronThatHangsHoldsUpNoOther: the store does not insert the job of a cron in time, although it answers pings.
func TestACronThatHangsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCronRig(t, job.CatchUpAll)
		hangs := r.config.Crons[0]
		hangs.Name = "a"
		r.config.Crons = []job.Cron{hangs, r.config.Crons[0]}
		r.workUntil(&hangingTicks{Store: r.store, cron: hangs.Name}, 90)
		if got := r.ticks(); len(got) < 10 {
			t.Errorf("ticks at %v, want at least ten", got)
		}
	})
}

// hangingTicks is a store that does not insert the jobs of a cron before the call ends.
type hangingTicks struct {
	job.Store
	cron string
}

func (s *hangingTicks) Tick(ctx context.Context, t job.Tick) (bool, error) {
	if t.Cron == s.cron && t.Job != nil {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return s.Store.Tick(ctx, t)
}

// A cronRig has a cron that ticks every five seconds from the start of the bubble. Its jobs are not run.
type cronRig struct {
	*rig
	begun  time.Time
	config job.Config
}

func newCronRig(t *testing.T, policy job.CatchUp) *cronRig {
	return &cronRig{newIdleRig(t), time.Now(), job.Config{
		Queues: []job.QueueConfig{{Name: "none"}},
		Crons: []job.Cron{{Name: "c", Spec: "@every 5s", CatchUp: policy, Job: func(at time.Time) (*job.Job, error) {
			return noteKind.New(note{at.Format(time.RFC3339)})
		}}},
	}}
}

// until lets time pass until n seconds after the start.
func (r *cronRig) until(n float64) { seconds(n - time.Since(r.begun).Seconds()) }

// workUntil runs a worker until n seconds after the start.
func (r *cronRig) workUntil(store job.Store, n float64) {
	r.Helper()
	r.startWorker(store, r.config)
	r.until(n)
	r.stop()
	if err := <-r.ended; err != nil {
		r.Errorf("the worker ended with %v", err)
	}
}

// ticks returns the ticks that were enqueued, in seconds after the start.
func (r *cronRig) ticks() []int {
	r.Helper()
	var all []int
	for j, err := range job.List(r.ctx, r.store, job.Filter{}) {
		if err != nil {
			r.Fatal(err)
		}
		args, err := noteKind.Args(j)
		if err != nil {
			r.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, args.Text)
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, int(at.Sub(r.begun).Seconds()))
	}
	slices.Sort(all)
	return all
}

func (r *cronRig) wantTicks(want ...int) {
	r.Helper()
	if got := r.ticks(); !slices.Equal(got, want) {
		r.Errorf("ticks at %v, want %v", got, want)
	}
}

// TestNextOfATickWithoutAJob: a cron that skips its ticks does not appear as late.
func TestNextOfATickWithoutAJob(t *testing.T) {
	for name, none := range map[string]func(time.Time) (*job.Job, error){
		"nil":      func(time.Time) (*job.Job, error) { return nil, nil },
		"an error": func(time.Time) (*job.Job, error) { return nil, errors.New("none today") },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newCronRig(t, job.CatchUpLast)
			r.config.Crons[0].Job = none
			r.startWorker(r.store, r.config)
			r.until(33)
			crons, err := r.store.Crons(r.ctx)
			if err != nil || len(crons) != 1 || !crons[0].Next.Equal(r.begun.Add(35*time.Second)) || !crons[0].Last.Equal(r.begun) {
				t.Errorf("%s: after 33 s the crons are %+v, %v; want the next tick 35 s after %v", name, crons, err, r.begun)
			}
			r.wantTicks()
			r.end()
		})
	}
}

// TestCatchUpAfterADeployment: there is no worker for fifty seconds.
func TestCatchUpAfterADeployment(t *testing.T) {
	for policy, want := range map[job.CatchUp][]int{
		job.CatchUpNone: {5, 10, 75, 80},
		job.CatchUpLast: {5, 10, 70, 75, 80},
		job.CatchUpAll:  {5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newCronRig(t, policy)
			r.workUntil(r.store, 12)
			r.until(72)
			r.workUntil(r.store, 82)
			r.wantTicks(want...)
		})
	}
}

// TestCatchUpOfWorkersThatOverlap: each worker starts before the last one stops, and stops in the second of a tick. No tick is missed, and none is
// enqueued twice.
func TestCatchUpOfWorkersThatOverlap(t *testing.T) {
	for _, policy := range []job.CatchUp{job.CatchUpNone, job.CatchUpLast, job.CatchUpAll} {
		synctest.Test(t, func(t *testing.T) {
			r := newCronRig(t, policy)
			next := &cronRig{&rig{T: t, ctx: r.ctx, store: r.store, ended: make(chan error, 1)}, r.begun, r.config}
			r.startWorker(r.store, r.config)
			r.until(13)
			next.startWorker(r.store, r.config)
			r.until(15.5)
			r.stop()
			r.until(28)
			r.startWorker(r.store, r.config)
			r.until(30)
			next.stop()
			r.until(36)
			r.stop()
			for _, ended := range []chan error{r.ended, r.ended, next.ended} {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			r.wantTicks(5, 10, 15, 20, 25, 30, 35)
		})
	}
}

// TestNothingIsCaughtUpOfAPause: the ticks of a pause are skipped, both by a worker that runs during it and by one that starts afterwards.
func TestNothingIsCaughtUpOfAPause(t *testing.T) {
	for _, policy := range []job.CatchUp{job.CatchUpLast, job.CatchUpNone, job.CatchUpAll} {
		synctest.Test(t, func(t *testing.T) {
			r := newCronRig(t, policy)
			pause := func(paused bool) {
				if err := r.store.PauseCron(r.ctx, "c", paused); err != nil {
					t.Fatal(err)
				}
			}
			r.workUntil(r.store, 12)
			pause(true)
			r.workUntil(r.store, 22)
			r.until(33)
			pause(false)
			r.until(34)
			r.workUntil(r.store, 41)
			r.wantTicks(5, 10, 35, 40)
		})
	}
}

// TestCatchUpAfterAnOutage: the store accepts no ticks for fifty seconds, while the worker runs. The newest tick of that time is late, those before
// it were overtaken.
func TestCatchUpAfterAnOutage(t *testing.T) {
	for policy, want := range map[job.CatchUp][]int{
		job.CatchUpNone: {5, 10, 60, 65, 70},
		job.CatchUpLast: {5, 10, 60, 65, 70},
		job.CatchUpAll:  {5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newCronRig(t, policy)
			var down atomic.Bool
			store := jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
				if down.Load() && (c.Method == "Tick" || c.Method == "Crons") {
					return jobtest.Fault{Before: errors.New("not now")}
				}
				return jobtest.Fault{}
			})
			r.startWorker(store, r.config)
			r.until(12)
			down.Store(true)
			r.until(62)
			down.Store(false)
			r.until(72)
			r.stop()
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
			r.wantTicks(want...)
		})
	}
}

// TestCatchUpOfALongOutage: after more than a minute the newest tick is no longer late, but missed.
func TestCatchUpOfALongOutage(t *testing.T) {
	t.Parallel()
	for policy, want := range map[job.CatchUp][]int{job.CatchUpNone: {600, 1800}, job.CatchUpLast: {600, 1200, 1800}} {
		synctest.Test(t, func(t *testing.T) {
			r := newCronRig(t, policy)
			r.config.Crons[0].Spec = "@every 10m"
			var down atomic.Bool
			store := jobtest.Faulty(r.store, func(jobtest.Call) jobtest.Fault {
				if down.Load() {
					return jobtest.Fault{Before: errors.New("not now")}
				}
				return jobtest.Fault{}
			})
			r.startWorker(store, r.config)
			r.until(1190)
			down.Store(true)
			r.until(1290)
			down.Store(false)
			r.until(1810)
			r.stop()
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
			r.wantTicks(want...)
		})
	}
}

// TestCatchUpByTheClockOfTheStore: the worker's clock is an hour behind that of the store.
func TestCatchUpByTheClockOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCronRig(t, job.CatchUpNone)
		store := &aheadStore{Store: r.store}
		r.workUntil(store, 12)
		r.until(72)
		r.workUntil(store, 82)
		r.wantTicks(3605, 3610, 3675, 3680)
	})
}

// An aheadStore reports a time that is an hour ahead.
type aheadStore struct{ job.Store }

func (s *aheadStore) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	got, err := s.Store.Renew(ctx, r)
	got.Now = got.Now.Add(time.Hour)
	return got, err
}

func (s *aheadStore) Tick(ctx context.Context, t job.Tick) (bool, error) {
	if t.Job == nil && t.At.IsZero() {
		t.At = time.Now().Add(time.Hour) // the time of the call
	}
	return s.Store.Tick(ctx, t)
}

// TestCronWithoutAJobOfNew: if the function of a cron returns a job that was not created by New, or does not return, the tick is skipped, and the
// worker continues.
func TestCronWithoutAJobOfNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty := job.Cron{Name: "empty", Spec: "@every 1s", Job: func(time.Time) (*job.Job, error) { return &job.Job{}, nil }}
		ends := job.Cron{Name: "ends", Spec: "@every 1s", Job: func(time.Time) (*job.Job, error) {
			runtime.Goexit()
			return nil, nil
		}}
		r := newRig(t, job.Config{Crons: []job.Cron{empty, ends}}, noteKind.Handle(func(context.Context, note) error { return nil }))
		seconds(3)
		id := r.enqueue()
		seconds(1)
		r.wantState(id, job.Completed)
	})
}
