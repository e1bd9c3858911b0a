package dash_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// beat renews worker w, which knows kind mail and works on the default queue.
func beat(t *testing.T, s job.Store, change func(*job.Renewal)) {
	t.Helper()
	renew(t, s, "w", func(r *job.Renewal) {
		r.Info.Kinds, r.Info.Crons = []string{"mail"}, []string{"nightly"}
		if change != nil {
			change(r)
		}
	})
}

func TestAttention(t *testing.T) {
	tests := []struct {
		name, want string
		make       func(t *testing.T, s job.Store)
	}{
		{"nothing", "Nothing. Queues are worked on in time", func(t *testing.T, s job.Store) { beat(t, s, nil) }},
		{"gone worker", "Worker w was last heard of <time data-ago", func(t *testing.T, s job.Store) {
			beat(t, s, nil)
			time.Sleep(time.Minute)
		}},
		{"paused queue", "Queue default is paused</a> <span class=\"sub\">2 jobs are queued in it.", func(t *testing.T, s job.Store) {
			enqueue(t, s, "mail", `{}`, 2)
			beat(t, s, nil)
			if err := s.Pause(t.Context(), job.DefaultQueue, true); err != nil {
				t.Fatal(err)
			}
		}},
		{"queue without worker", "No worker works on queue slow, with 3 jobs queued", func(t *testing.T, s job.Store) {
			enqueue(t, s, "mail", `{}`, 3, job.Queue("slow"))
			beat(t, s, nil)
		}},
		{"long wait", "Queue default is behind by 2 min", func(t *testing.T, s job.Store) {
			enqueue(t, s, "mail", `{}`, 1)
			time.Sleep(2*time.Minute + 5*time.Second)
			beat(t, s, nil)
		}},
		{"kind without worker", "No worker handles kind page, with 1 job queued", func(t *testing.T, s job.Store) {
			enqueue(t, s, "page", `{}`, 1)
			beat(t, s, nil)
		}},
		{"cron without worker", "No worker that runs has cron weekly", func(t *testing.T, s job.Store) {
			tick(t, s, "weekly", time.Hour)
			beat(t, s, nil)
		}},
		{"late cron", "Cron nightly should have ticked <time data-ago", func(t *testing.T, s job.Store) {
			tick(t, s, "nightly", time.Minute)
			time.Sleep(5 * time.Minute)
			beat(t, s, nil)
		}},
		{"failures rise", "Failures rise: 9 attempts in five minutes", func(t *testing.T, s job.Store) { stat(t, s, 2, 9, 0) }},
		{"discarded", "4 jobs discarded in the last hour", func(t *testing.T, s job.Store) { stat(t, s, 40, 0, 4) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				time.Sleep(2 * time.Hour) // past the beginning of all time
				test.make(t, s)
				w := get(t, dash.New(dash.Config{Store: s}), "/")
				has(t, w, http.StatusOK, test.want)
				if test.name != "nothing" {
					has(t, w, http.StatusOK, "not Nothing. Queues")
				}
			})
		})
	}
}

func tick(t *testing.T, s job.Store, cron string, next time.Duration) {
	t.Helper()
	if _, err := s.Tick(t.Context(), job.Tick{Cron: cron, Spec: "@daily", Next: time.Now().Add(next)}); err != nil {
		t.Fatal(err)
	}
}

// stat tells of a minute some minutes ago.
func stat(t *testing.T, s job.Store, ago int, retried, discarded int64) {
	t.Helper()
	beat(t, s, func(r *job.Renewal) {
		stat := job.Stat{Minute: time.Now().Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Worker: "w", Queue: job.DefaultQueue, Kind: "mail"}
		stat.Completed, stat.Retried, stat.Discarded = 500, retried, discarded
		for range 100 {
			stat.Wait.Add(20 * time.Millisecond)
			stat.Run.Add(3 * time.Second)
		}
		r.Stats = []job.Stat{stat}
	})
}

func TestCharts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &statsCounted{Store: memory.New()}
		time.Sleep(2 * time.Hour)
		enqueue(t, s, "mail", `{}`, 3)
		stat(t, s, 3, 50, 0)
		h := dash.New(dash.Config{Store: s})
		has(t, get(t, h, "/"), http.StatusOK, ": 500</title>", ": 50</title>", "Completed a minute <b class=\"num\">100</b>", "Failed attempts a minute <b class=\"num\">10</b>",
			"not Run time <b class=\"num\">–", "not Wait for a worker <b class=\"num\">–", "Queued <b class=\"num\">3</b>", "up to 500")
		has(t, get(t, h, "/queues"), http.StatusOK, `data-label="Done a minute">100<`)

		// The hour is read once; after that, only the minutes that may have changed are.
		open(t, h, "/", 0)
		time.Sleep(10 * time.Minute)
		if got := time.Since(*s.since.Load()); got > 20*time.Minute {
			t.Errorf("stats are read from %v ago on", got)
		}
		stat(t, s, 0, 0, 0)
		time.Sleep(2 * time.Second)
		has(t, get(t, h, "/"), http.StatusOK, ": 500</title>")
		time.Sleep(time.Hour)
		has(t, get(t, h, "/"), http.StatusOK, "not : 500</title>")
	})
}

// TestQueueChart: how long the queues were is what workers saw, not the sum of it.
func TestQueueChart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		time.Sleep(2 * time.Hour)
		h := dash.New(dash.Config{Store: s})
		at := time.Now().UTC().Truncate(time.Minute)
		for worker, rows := range map[string][]job.Stat{
			"a": {{Minute: at.Add(-5 * time.Minute), Queue: "x", Queued: 40, Running: 2}, {Minute: at.Add(-5 * time.Minute), Queue: "y", Queued: 3}},
			"b": {{Minute: at.Add(-5 * time.Minute), Queue: "x", Queued: 41, Running: 1}},
		} {
			for i := range rows {
				rows[i].Worker = worker
			}
			if _, err := s.Renew(t.Context(), job.Renewal{Worker: worker, Lease: time.Minute, Stats: rows}); err != nil {
				t.Fatal(err)
			}
		}
		has(t, get(t, h, "/"), http.StatusOK, ": 44</title>", ": 2</title>", "Queued <b class=\"num\">0</b>", "Running <b class=\"num\">0</b>")
	})
}

// A statsCounted store notes since when stats were asked for.
type statsCounted struct {
	*memory.Store
	since atomic.Pointer[time.Time]
}

func (s *statsCounted) Stats(ctx context.Context, since time.Time) ([]job.Stat, error) {
	s.since.Store(&since)
	return s.Store.Stats(ctx, since)
}
