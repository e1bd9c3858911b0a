package job_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestHealthOfAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		w := job.NewWorker(store, job.Config{Concurrency: 2, Grace: time.Minute}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Sleep(ctx, 10*time.Second)
		}))
		check := func(when string, want job.Health) {
			t.Helper()
			got := w.Health()
			got.Claimed, got.Settled = time.Time{}, time.Time{}
			if got != want {
				t.Errorf("%s: got %+v, want %+v", when, got, want)
			}
		}
		check("before Run", job.Health{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		started := time.Now()
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		check("idle", job.Health{Started: started, Slots: 2})
		for range 3 {
			if _, err := noteKind.Enqueue(ctx, store, note{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		check("full", job.Health{Started: started, Full: true, Running: 2, Slots: 2})
		time.Sleep(10 * time.Second)
		check("one left", job.Health{Started: started, Running: 1, Slots: 2})
		stop()
		synctest.Wait()
		check("stopping", job.Health{Started: started, Stopping: true, Running: 1, Slots: 2})
		if err := <-ended; err != nil {
			t.Error(err)
		}
		check("after Run", job.Health{})
	})
}

func TestEventsNameWhatTheyAreAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		store := &unreliable{Store: memory.New(), random: rand.New(rand.NewPCG(1, 2))}
		config := job.Config{
			Logger: slog.New(slog.DiscardHandler),
			Crons:  []job.Cron{{Name: "minutely", Spec: "@every 1m", Job: noteKind.Maker(note{})}},
			Observe: func(e job.Event) {
				mu.Lock()
				defer mu.Unlock()
				switch e.Kind {
				case job.CronTicked:
					got = append(got, "tick of "+e.Cron)
				case job.StoreFailed:
					got = append(got, "failed to "+e.Call)
				}
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- job.NewWorker(store, config, noteKind.Handle(func(context.Context, note) error { return nil })).Run(ctx)
		}()
		time.Sleep(61 * time.Second)
		store.mu.Lock()
		store.cut = time.Now().Add(3 * time.Second)
		store.mu.Unlock()
		time.Sleep(4 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		slices.Sort(got)
		want := []string{"failed to claim", "failed to renew", "tick of minutely"}
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
