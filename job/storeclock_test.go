package job_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestCronsTickByTheClockOfTheStore: crons tick by the store's clock, however far the worker's clock is behind. Before the store has reported its
// time, no cron ticks.
func TestCronsTickByTheClockOfTheStore(t *testing.T) {
	for _, ahead := range []time.Duration{0, 90 * time.Second, 10_000 * time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var got []time.Time
				config := job.Config{Logger: slog.New(slog.DiscardHandler), Crons: []job.Cron{{Name: "minutes", Spec: "* * * * *", Job: func(at time.Time) (*job.Job, error) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, at)
					return noteKind.New(note{at.Format(time.RFC3339)})
				}}}}
				r := newIdleRig(t)
				store := &silent{skewed: skewed{r.store, ahead}}
				store.quiet(true)
				r.startWorker(store, config, noteKind.Handle(func(context.Context, note) error { return nil }))
				defer r.end()
				seconds(600)
				mu.Lock()
				if len(got) > 0 {
					t.Errorf("ticks at %v, before the store has reported its time", got)
				}
				mu.Unlock()
				store.quiet(false)
				now := time.Now().Add(ahead).UTC()
				seconds(301)
				var want []time.Time
				for n := range 5 {
					want = append(want, now.Truncate(time.Minute).Add(time.Duration(n+1)*time.Minute))
				}
				mu.Lock()
				defer mu.Unlock()
				if len(got) > 0 && got[0].Equal(now.Truncate(time.Minute)) { // this tick is still on time
					got = got[1:]
				}
				if !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("got ticks at %v, want %v", got, want)
				}
			})
		})
	}
}

// A silent store fails to renew leases for a while.
type silent struct {
	skewed
	mu   sync.Mutex
	shut bool
}

func (s *silent) quiet(quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = quiet
}

func (s *silent) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	s.mu.Lock()
	shut := s.shut
	s.mu.Unlock()
	if shut {
		return job.Renewed{}, errFlaky
	}
	return s.skewed.Renew(ctx, r)
}
