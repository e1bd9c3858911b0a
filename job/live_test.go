package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestSetConcurrency: if it is raised, more jobs start immediately; if it is lowered, running jobs continue.
func TestSetConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		var running, most atomic.Int64
		release := make(chan struct{})
		w := job.NewWorker(r.store, job.Config{Concurrency: 2}, noteKind.Handle(func(ctx context.Context, _ note) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-release
			return nil
		}))
		r.run(w)
		for range 10 {
			r.enqueue()
		}
		want := func(n int64) {
			t.Helper()
			seconds(2)
			if running.Load() != n {
				t.Errorf("%d jobs run, want %d", running.Load(), n)
			}
		}
		want(2)
		r.must(w.SetConcurrency(5))
		want(5)
		if h := w.Health(); h.Slots != 5 {
			t.Errorf("health reports %d slots, want 5", h.Slots)
		}
		r.must(w.SetConcurrency(1))
		want(5)
		for range 4 {
			release <- struct{}{}
		}
		want(1)
		release <- struct{}{}
		want(1)
		close(release)
		want(0)
		if most.Load() != 5 {
			t.Errorf("%d jobs ran at once, want 5", most.Load())
		}
		r.end()
	})
}

// TestSetQueues: jobs of a queue that is left out are no longer claimed, and its running jobs continue.
func TestSetQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		release := make(chan struct{})
		w := job.NewWorker(r.store, job.Config{Poll: time.Hour, Queues: []job.QueueConfig{{Name: "a", Concurrency: 1}}}, noteKind.Handle(func(context.Context, note) error {
			<-release
			return nil
		}))
		r.run(w)
		first, second, other := r.enqueue(job.Queue("a")), r.enqueue(job.Queue("a")), r.enqueue(job.Queue("b"))
		seconds(1)
		r.wantState(first, job.Running)
		r.wantState(other, job.Queued)
		r.must(w.SetQueues(job.QueueConfig{Name: "b"}))
		seconds(1)
		r.wantState(other, job.Running)
		close(release)
		seconds(1)
		r.wantState(first, job.Completed)
		r.wantState(second, job.Queued)
		later := r.enqueue(job.Queue("b")) // noticed without polling: the worker waits for its new queue
		seconds(1)
		r.wantState(later, job.Completed)
		workers, err := r.store.Workers(t.Context())
		if err != nil || len(workers) != 1 || !slices.Equal(workers[0].Queues, []string{"b"}) {
			t.Errorf("listed as %+v, %v", workers, err)
		}
		r.end()
	})
}

// TestSetCrons: a new cron starts with its next tick, one that stays misses none, and one that is left out stops.
func TestSetCrons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		w := job.NewWorker(r.store, job.Config{})
		r.run(w)
		cron := func(name, spec string) job.Cron {
			return job.Cron{Name: name, Spec: spec, Job: func(tick time.Time) (*job.Job, error) {
				return job.New(name, json.RawMessage("null"), job.At(tick))
			}}
		}
		ticks := func(name string) (n int) {
			t.Helper()
			for _, err := range job.List(t.Context(), r.store, job.Filter{Kinds: []string{name}}) {
				r.must(err)
				n++
			}
			return n
		}
		want := func(a, b int) {
			t.Helper()
			if gotA, gotB := ticks("a"), ticks("b"); gotA != a || gotB != b {
				t.Errorf("%d and %d ticks, want %d and %d", gotA, gotB, a, b)
			}
		}
		seconds(0.5)
		r.must(w.SetCrons(cron("a", "@every 10s")))
		seconds(30)
		want(3, 0)
		r.must(w.SetCrons(cron("a", "@every 10s"), cron("b", "@every 1m")))
		seconds(60)
		want(9, 1)
		r.must(w.SetCrons(cron("b", "@every 1m")))
		seconds(60)
		want(9, 2)
		r.must(w.SetCrons())
		seconds(600)
		want(9, 2)
		r.end()
	})
}

// TestSetCronsAnotherSpec: a cron whose spec is changed starts with the next tick of the new spec, whatever its CatchUp, and misses none that
// becomes due during the change.
func TestSetCronsAnotherSpec(t *testing.T) {
	t.Parallel()
	for _, policy := range []job.CatchUp{job.CatchUpLast, job.CatchUpNone, job.CatchUpAll} {
		synctest.Test(t, func(t *testing.T) {
			r := newIdleRig(t)
			var ticks []string
			cron := func(spec string) job.Cron {
				return job.Cron{Name: "c", Spec: spec, CatchUp: policy, Job: func(tick time.Time) (*job.Job, error) {
					return job.New("c", json.RawMessage(tick.Format(`"15:04"`)))
				}}
			}
			w := job.NewWorker(r.store, job.Config{Crons: []job.Cron{cron("1 0 * * *")}}, job.Define[string]("c").Handle(func(_ context.Context, tick string) error {
				ticks = append(ticks, tick)
				return nil
			}))
			r.run(w)
			time.Sleep(3*time.Minute + 5*time.Second)
			r.must(w.SetCrons(cron("2,4 0 * * *")))
			time.Sleep(2*time.Minute + 10*time.Second)
			r.must(w.SetCrons(cron("* * * * *")))
			time.Sleep(90 * time.Second)
			for i := range 3 {
				r.must(w.SetCrons(cron([]string{"*/1 * * * *", "0-59 * * * *"}[i%2])))
				time.Sleep(time.Minute)
			}
			r.end()
			want := []string{"00:01", "00:04", "00:06", "00:07", "00:08", "00:09"}
			if !slices.Equal(ticks, want) {
				t.Errorf("policy %d: ticks %v, want %v", policy, ticks, want)
			}
		})
	}
}

func TestSetOutOfBounds(t *testing.T) {
	w := job.NewWorker(nil, job.Config{})
	many := make([]job.QueueConfig, 1001)
	for i := range many {
		many[i].Name = fmt.Sprint("q", i)
	}
	for want, err := range map[string]error{
		"worker: set concurrency: a concurrency of 0: give from 1 to 1000000": w.SetConcurrency(0),
		"worker: set queues: no queue: give one at least":                     w.SetQueues(),
		`worker: set queues: queue "a" is named twice`:                        w.SetQueues(job.QueueConfig{Name: "a"}, job.QueueConfig{Name: "a"}),
		"worker: set queues: 1001 queues: give at most 1000":                  w.SetQueues(many...),
		`worker: set crons: cron "x" has no Job`:                              w.SetCrons(job.Cron{Name: "x", Spec: "@daily"}),
		"worker: set crons: 1001 crons: give at most 1000":                    w.SetCrons(make([]job.Cron, 1001)...),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s…", err, want)
		}
	}
	if h := w.Health(); h.Slots != 0 {
		t.Errorf("a worker that does not run has %d slots", h.Slots)
	}
}
