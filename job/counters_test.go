package job_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A skewed store has a clock that is ahead of the worker's.
type skewed struct {
	job.Store
	ahead time.Duration
}

func (s skewed) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	got, err := s.Store.Renew(ctx, r)
	got.Now = got.Now.Add(s.ahead)
	return got, err
}

func (r *rig) stats() []job.Stat {
	r.Helper()
	stats, err := r.store.Stats(r.ctx, job.StatsFilter{})
	if err != nil {
		r.Fatal(err)
	}
	return stats
}

// sum merges stats, as a dashboard does.
func sum(stats []job.Stat) (total job.Stat) {
	for _, s := range stats {
		total.Completed += s.Completed
		total.Retried += s.Retried
		total.Snoozed += s.Snoozed
		total.Canceled += s.Canceled
		total.Discarded += s.Discarded
		total.Wait.Merge(s.Wait)
		total.Run.Merge(s.Run)
	}
	return total
}

func snoozing(context.Context, *job.Job) error { return job.Snooze(time.Hour) }

func TestStatsCountWhatBecameOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := map[string]error{"discard": retry.Permanent(errFlaky), "cancel": job.Cancel(nil), "snooze": job.Snooze(time.Hour), "retry": retry.After(errFlaky, time.Hour)}
		r := newRig(t, job.Config{Name: "w"}, noteKind.Handle(func(ctx context.Context, n note) error {
			if err := meanwhile.Sleep(ctx, 2*time.Second); err != nil {
				return err
			}
			return outcomes[n.Text]
		}), job.HandleRaw("other", snoozing))
		for _, text := range []string{"", "", "", "discard", "cancel", "cancel", "snooze", "retry"} {
			if _, err := noteKind.Enqueue(r.ctx, r.store, note{text}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := job.Define[note]("other").Enqueue(r.ctx, r.store, note{}); err != nil {
			t.Fatal(err)
		}
		seconds(10)
		stats := r.stats()
		if len(stats) != 2 {
			t.Fatalf("stats %+v, want a row for each kind", stats)
		}
		got := stats[0]
		if got.Kind != "note" || got.Queue != job.DefaultQueue || got.Worker != "w" || !got.Minute.Equal(time.Now().Truncate(time.Minute)) {
			t.Errorf("got a row of %s, %s, %s, %v", got.Kind, got.Queue, got.Worker, got.Minute)
		}
		if got.Completed != 3 || got.Discarded != 1 || got.Canceled != 2 || got.Snoozed != 1 || got.Retried != 1 {
			t.Errorf("counted %+v", got)
		}
		if got.Run.Count() != 8 || got.Run.Quantile(0).Round(time.Second) != 2*time.Second || got.Wait.Count() != 8 || got.Wait.Quantile(1) > time.Millisecond {
			t.Errorf("run times %+v, waits %+v", got.Run, got.Wait)
		}
		if got := stats[1]; got.Kind != "other" || got.Snoozed != 1 || got.Run.Count() != 1 {
			t.Errorf("the other kind: %+v", got)
		}
	})
}

func TestStatsOfAShortWorkerAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		r.startWorker(r.store, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		seconds(1.5)
		r.enqueue()
		seconds(0.1)
		r.stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if got := sum(r.stats()); got.Completed != 1 || got.Wait.Count() != 1 {
			t.Errorf("counted %+v", got)
		}
		if workers, err := r.store.Workers(r.ctx); err != nil || len(workers) != 0 {
			t.Errorf("workers %+v, %v", workers, err)
		}
	})
}

func TestStatsCountOnceWhenAnswersAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		lost := errors.New("the answer is lost")
		faulty := jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
			if c.Method == "Renew" {
				time.Sleep(900 * time.Millisecond) // so that jobs end between the report and the answer
			}
			switch {
			case c.Method == "Renew" && c.N%3 == 0:
				return jobtest.Fault{After: lost}
			case c.Method == "Renew" && c.N%3 == 1 && c.N > 1:
				return jobtest.Fault{Before: lost}
			}
			return jobtest.Fault{}
		})
		r.startWorker(faulty, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		for n := int64(1); n <= 300; n++ {
			r.enqueue()
			seconds(0.7)
			if n%10 != 0 {
				continue
			}
			seconds(20.77)
			if got := sum(r.stats()); got.Completed != n || got.Wait.Count() != n || got.Run.Count() != n {
				t.Errorf("%d jobs: counted %d as completed, %d waits, %d run times", n, got.Completed, got.Wait.Count(), got.Run.Count())
			}
		}
		r.end()
	})
}

func TestStatsOfTwoWorkersMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := noteKind.Handle(func(context.Context, note) error { return nil })
		r := newRig(t, job.Config{Name: "one", Concurrency: 1}, handler)
		other := &rig{T: t, ctx: r.ctx, store: r.store, ended: make(chan error, 1)}
		other.startWorker(r.store, job.Config{Name: "two", Concurrency: 1}, handler)
		for i := range 400 {
			r.enqueue()
			if i%20 == 0 {
				seconds(0.5)
			}
		}
		seconds(10)
		stats := r.stats()
		if got := sum(stats); got.Completed != 400 || got.Run.Count() != 400 {
			t.Errorf("400 jobs: counted %d, %d run times", got.Completed, got.Run.Count())
		}
		workers := map[string]bool{}
		for _, s := range stats {
			workers[s.Worker] = true
		}
		if len(workers) != 2 {
			t.Errorf("rows of %v, want two workers", workers)
		}
		other.stop()
		if err := <-other.ended; err != nil {
			t.Error(err)
		}
	})
}

// TestStatsAreByMinuteOfTheStore: rows are by minutes of the store's clock, however different the worker's clock is.
func TestStatsAreByMinuteOfTheStore(t *testing.T) {
	for _, ahead := range []time.Duration{0, 17 * time.Second, -17 * time.Second, 90 * time.Minute, -90 * time.Minute} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdleRig(t)
				r.startWorker(skewed{r.store, ahead}, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
				defer r.end()
				store := func() time.Time { return time.Now().Add(ahead) }
				seconds(60 - store().Sub(store().Truncate(time.Minute)).Seconds())
				first := store()
				if !first.Equal(first.Truncate(time.Minute)) {
					t.Fatalf("the test is wrong: %v", first)
				}
				want := map[time.Time]int64{}
				enqueue := func() {
					want[store().Truncate(time.Minute).UTC()]++
					r.enqueue()
					synctest.Wait()
				}
				for range 3 { // at the edges of each minute
					enqueue()
					seconds(0.1)
					enqueue()
					seconds(59.8)
					enqueue()
					seconds(0.1)
				}
				seconds(3)
				got := map[time.Time]int64{}
				for _, s := range r.stats() {
					got[s.Minute] += s.Completed
				}
				if len(got) != 3 || !maps.Equal(got, want) {
					t.Errorf("by minute %v, want %v", got, want)
				}
			})
		})
	}
}

func TestStatsAreKeptWhileTheStoreDoesNotTakeThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		begun := time.Now()
		away := errors.New("away")
		faulty := jobtest.Faulty(r.store, func(c jobtest.Call) jobtest.Fault {
			if d := time.Since(begun); c.Method == "Renew" && d > 30*time.Second && d < 10*time.Minute {
				return jobtest.Fault{Before: away}
			}
			return jobtest.Fault{}
		})
		r.startWorker(faulty, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		defer r.end()
		for range 15 {
			r.enqueue()
			seconds(60)
		}
		var minutes []time.Time
		for _, s := range r.stats() {
			if s.Completed != 1 {
				t.Errorf("minute %v: counted %d jobs, want 1", s.Minute, s.Completed)
			}
			minutes = append(minutes, s.Minute)
		}
		if len(minutes) != 15 || !slices.IsSortedFunc(minutes, time.Time.Compare) {
			t.Errorf("minutes %v, want 15", minutes)
		}
	})
}

func TestStatsOfManyKindsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handlers []job.Handler
		for i := range 1000 {
			handlers = append(handlers, job.HandleRaw(fmt.Sprintf("kind-%d", i), snoozing))
		}
		r, s := newSpiedRig(t, job.Config{}, handlers...)
		for i := range 1000 {
			if _, err := job.Define[note](fmt.Sprintf("kind-%d", i)).Enqueue(r.ctx, r.store, note{}); err != nil {
				t.Fatal(err)
			}
		}
		seconds(20)
		stats := r.stats()
		if n := len(stats); n < 100 || n > 2*201 {
			t.Errorf("got %d rows of 1,000 kinds, want from 100 to 402", n)
		}
		if got := sum(stats); got.Snoozed != 1000 {
			t.Errorf("counted %d of 1,000 jobs", got.Snoozed)
		}
		if i := slices.IndexFunc(stats, func(s job.Stat) bool { return s.Kind == "" && s.Snoozed > 700 }); i < 0 {
			t.Error("no row for the other kinds")
		}
		if renewals, _, reported := s.seen(); reported > 3*201 {
			t.Errorf("%d rows reported in %d renewals", reported, renewals)
		}
	})
}

func TestRowsThatGrowAreToldEachTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newSpiedRig(t, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		seconds(5)
		s.seen()
		for range 500 {
			r.enqueue()
			seconds(0.1)
		}
		if renewals, _, reported := s.seen(); renewals > 51 || reported < 20 || reported > 28 {
			t.Errorf("in 50 s %d rows were reported in %d renewals", reported, renewals)
		}
	})
}
