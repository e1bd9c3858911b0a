package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func Example_queueWait() {
	show(func(ctx context.Context, store job.Store) error {
		for _, due := range []time.Duration{-time.Hour, -time.Minute, time.Hour} {
			if _, err := SendMail.Enqueue(ctx, store, Mail{}, job.At(time.Now().Add(due))); err != nil {
				return err
			}
		}
		queues, err := store.Queues(ctx)
		if err != nil {
			return err
		}
		for _, q := range queues {
			if q.Wait > time.Minute && !q.Paused {
				fmt.Printf("%s: %d jobs wait, the oldest since %v\n", q.Name, q.Queued, q.Wait.Round(time.Second))
			}
		}
		return nil
	})
	// Output:
	// mail: 3 jobs wait, the oldest since 1h0m0s
}

func Example_whatWasDone() {
	show(func(ctx context.Context, store job.Store) error {
		row := job.Stat{Minute: time.Now().Truncate(time.Minute), Queue: "mail", Kind: "mail.send", Completed: 100}
		for range row.Completed {
			row.Wait.Add(2 * time.Second)
		}
		for _, worker := range []string{"a", "b"} {
			if _, err := store.Renew(ctx, job.Renewal{Worker: worker, Session: 1, Lease: time.Minute, Stats: []job.Stat{row}}); err != nil {
				return err
			}
		}
		stats, err := store.Stats(ctx, job.StatsFilter{Since: time.Now().Add(-10 * time.Minute)})
		if err != nil {
			return err
		}
		var done int64
		var waits job.Histogram
		for _, s := range stats {
			done += s.Completed
			waits.Merge(s.Wait)
		}
		fmt.Printf("%d jobs; 99 of 100 began within %v\n", done, waits.Quantile(0.99).Round(time.Second))
		return nil
	})
	// Output:
	// 200 jobs; 99 of 100 began within 2s
}

// A moved store has all its workers on one host.
type moved struct{ job.Store }

func (s moved) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	workers, err := s.Store.Workers(ctx, names...)
	for i := range workers {
		workers[i].Host = "blue-7"
	}
	return workers, err
}

// TestOutsideOfTheGuide looks into a running job, and tells its worker to be quiet.
func TestOutsideOfTheGuide(t *testing.T) {
	var drawn string
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		worker := job.NewWorker(store, job.Config{Logger: quiet}, SendMail.Handle(func(ctx context.Context, _ Mail) error {
			return meanwhile.Sleep(ctx, time.Hour)
		}))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx) }()
		enqueued, err := SendMail.Enqueue(ctx, store, Mail{})
		if err != nil {
			t.Fatal(err)
		}
		id := enqueued.ID
		check := func() error {
			tree, err := store.Watch(ctx, id, 10*time.Second)
			if err != nil {
				return err
			}
			if tree.JSON != nil {
				var node inspect.Node
				if err := json.Unmarshal(tree.JSON, &node); err != nil {
					return err
				}
				fmt.Print(node)
			}
			drawn = string(tree.JSON)
			return nil
		}
		tell := func(store job.Store) error {
			workers, err := store.Workers(ctx)
			if err != nil {
				return err
			}
			for _, w := range workers {
				if w.Host == "blue-7" {
					if err := store.SendCommand(ctx, w.Name, job.Command{Do: job.CommandQuiet}); err != nil {
						return err
					}
				}
			}
			return nil
		}
		time.Sleep(5 * time.Second)
		for _, step := range []func() error{check, func() error { return tell(moved{store}) }, check} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		if !strings.Contains(drawn, `"name":"mail.send `+id.String()) || !strings.Contains(drawn, `"wait":{"for":"sleep"`) {
			t.Errorf("the tree is %q", drawn)
		}
		if !worker.Health().Quiet {
			t.Error("the worker is not quiet")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A broken store does not answer claims while it is away.
type brokenStore struct {
	job.Store
	away atomic.Bool
}

func (s *brokenStore) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	if s.away.Load() {
		return job.Claimed{}, errNotFound
	}
	return s.Store.Claim(ctx, c)
}

func TestHealthOfTheGuide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brokenStore{Store: memory.New()}
		defer store.Close()
		worker := job.NewWorker(store, job.Config{Logger: quiet}, handlers...)
		health := func(w http.ResponseWriter, _ *http.Request) {
			h := worker.Health()
			if h.Trouble != "" && time.Since(h.Claimed) > 5*time.Minute {
				http.Error(w, h.Trouble, http.StatusServiceUnavailable)
			}
		}
		ask := func() int {
			answer := httptest.NewRecorder()
			health(answer, nil)
			return answer.Code
		}
		ctx, stop := context.WithCancel(t.Context())
		err := meanwhile.Run(t.Context(), func(scope context.Context) error {
			meanwhile.Go(scope, func(context.Context) error { return worker.Run(ctx) })
			defer stop()
			for _, step := range []struct {
				away bool
				d    time.Duration
				want int
			}{{false, time.Hour, 200}, {true, time.Minute, 200}, {true, 10 * time.Minute, 503}, {false, time.Minute, 200}} {
				store.away.Store(step.away)
				time.Sleep(step.d)
				if got := ask(); got != step.want {
					t.Errorf("away %v for %v: health is %d, want %d", step.away, step.d, got, step.want)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestEventsOfTheGuide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var completed, failed, discarded atomic.Int64
		observe := func(e job.Event) {
			switch e.Kind {
			case job.JobStarted:
				if e.Wait > time.Minute {
					slog.Warn("a job began late", "kind", e.Job.Kind, "wait", e.Wait)
				}
			case job.JobCompleted:
				completed.Add(1)
			case job.JobRetried:
				failed.Add(1)
			case job.JobDiscarded:
				discarded.Add(1)
			}
		}
		store := memory.New()
		defer store.Close()
		for _, user := range []int{1, 2} {
			if _, err := SendMail.Enqueue(t.Context(), store, Mail{User: user}, job.MaxAttempts(2)); err != nil {
				t.Fatal(err)
			}
		}
		runFor(t, store, time.Minute, job.Config{Observe: observe}, SendMail.Handle(func(_ context.Context, m Mail) error {
			if m.User == 2 {
				return errNotFound
			}
			return nil
		}))
		if completed.Load() != 1 || failed.Load() != 1 || discarded.Load() != 1 {
			t.Errorf("%d completed, %d failed, %d discarded; want one of each", completed.Load(), failed.Load(), discarded.Load())
		}
	})
}

func Example_crashed() {
	show(func(ctx context.Context, store job.Store) error {
		if _, err := Probe.Enqueue(ctx, store, "too large for the memory", job.MaxAttempts(5)); err != nil {
			return err
		}
		for range 3 {
			queues := []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}
			if _, err := store.Claim(ctx, job.Claim{Worker: "dies", Session: job.NewSession(), Queues: queues, Limit: 1, Lease: 1, Expired: true}); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
		for j, err := range job.List(ctx, store, job.Filter{States: []job.State{job.Queued, job.Running, job.Discarded}}) {
			if err != nil {
				return err
			}
			if j.Crashed > 0 {
				fmt.Println(j.Kind, j.State, "crashed", j.Crashed, "of", j.MaxAttempts)
			}
		}
		return nil
	})
	// Output:
	// probe running crashed 2 of 5
}

func TestOperationsMessages(t *testing.T) {
	explains(t, "operations.md", job.ErrNoSchema.Error(), job.ErrSchema.Error(), job.ErrNotFound.Error())
	synctest.Test(t, func(t *testing.T) {
		l := &life{T: t, store: memory.New()}
		defer l.store.Close()
		l.enqueue(job.MaxAttempts(5))
		for range 5 {
			l.claim()
			time.Sleep(2 * time.Second)
		}
		l.work(moment, returns(nil))
		explains(t, "operations.md", findJob(t, l.store, l.id).LastError())
	})
}
