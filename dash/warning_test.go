package dash_test

import (
	"context"
	"net/http"
	"strings"
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
		{"nothing", "Nothing. No queue is behind", func(t *testing.T, s job.Store) { beat(t, s, nil) }},
		{"gone worker", "Worker w sent its last heartbeat <time data-ago", func(t *testing.T, s job.Store) {
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
		{"queue without worker", "No worker claims jobs of queue slow, with 3 jobs queued", func(t *testing.T, s job.Store) {
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
		{"a worker of any kind", "Nothing. No queue is behind", func(t *testing.T, s job.Store) { // as a client of Faktory
			enqueue(t, s, "page", `{}`, 1)
			beat(t, s, func(r *job.Renewal) { r.Info.Kinds = nil })
		}},
		{"a worker of any kind on another queue", "No worker handles kind page, with 1 job queued", func(t *testing.T, s job.Store) {
			enqueue(t, s, "page", `{}`, 1)
			beat(t, s, nil)
			renew(t, s, "other", func(r *job.Renewal) { r.Info.Queues = []string{"slow"} })
		}},
		{"a worker without handlers", "No worker handles kind page, with 1 job queued", func(t *testing.T, s job.Store) {
			enqueue(t, s, "page", `{}`, 1)
			beat(t, s, func(r *job.Renewal) { r.Info.Kinds = []string{} })
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
		{"paused queue with one job", "1 job is queued in it.", func(t *testing.T, s job.Store) {
			enqueue(t, s, "mail", `{}`, 1)
			beat(t, s, nil)
			if err := s.Pause(t.Context(), job.DefaultQueue, true); err != nil {
				t.Fatal(err)
			}
		}},
		{"steady failure", "Kind mail fails: 100 % of 15 attempts in five minutes, since 01:10 UTC", func(t *testing.T, s job.Store) {
			for ago := range 50 {
				failures(t, s, ago+1, 0, 3)
			}
		}},
		{"failure from the start on", "in five minutes, for an hour or longer", func(t *testing.T, s job.Store) {
			for ago := range 59 {
				failures(t, s, ago+1, 10, 3)
			}
		}},
		{"a kind that runs seldom", "Kind mail fails: 83 % of 6 attempts in an hour, since 01:15 UTC", func(t *testing.T, s job.Store) {
			failures(t, s, 55, 1, 0)
			for i := range 5 {
				failures(t, s, 5+10*i, 0, 1)
			}
		}},
		{"the error of a kind", `<span class="sub">relay refused</span>`, func(t *testing.T, s job.Store) { failOne(t, s) }},
		{"rows of a whole queue are of no kind", "not Kind  fails", func(t *testing.T, s job.Store) {
			failures(t, s, 2, 0, 9)
			beat(t, s, func(r *job.Renewal) {
				r.Stats = []job.Stat{{Minute: time.Now().Truncate(time.Minute).Add(-time.Minute), Worker: "w", Queue: job.DefaultQueue, Queued: 1}}
			})
		}},
		{"a few failures of many attempts", "Nothing. No queue is behind", func(t *testing.T, s job.Store) { stat(t, s, 2, 9, 0) }},
		{"many of one sort", "8 queues have queued jobs and no worker</a> <span class=\"sub\">a, b, c and 5 more", func(t *testing.T, s job.Store) {
			for _, queue := range "abcdefgh" {
				enqueue(t, s, "mail", `{}`, 1, job.Queue(string(queue)))
			}
			beat(t, s, nil)
		}},
		{"discarded", "4 jobs discarded in the last hour", func(t *testing.T, s job.Store) { stat(t, s, 40, 0, 4) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				time.Sleep(2 * time.Hour) // so that the start of the clock is in the past
				test.make(t, s)
				w := get(t, dash.New(dash.Config{Store: s}), "/")
				has(t, w, http.StatusOK, test.want)
				if !strings.HasPrefix(test.want, "Nothing") {
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

// stat reports the statistics of a minute some minutes ago.
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

// failures reports a minute in which attempts failed.
func failures(t *testing.T, s job.Store, ago int, completed, retried int64) {
	t.Helper()
	beat(t, s, func(r *job.Renewal) {
		r.Stats = []job.Stat{{
			Minute: time.Now().Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Worker: "w", Queue: job.DefaultQueue, Kind: "mail",
			Completed: completed, Retried: retried,
		}}
	})
}

// failOne makes a job of kind mail fail, and reports more failures.
func failOne(t *testing.T, s job.Store) {
	t.Helper()
	enqueue(t, s, "mail", `{}`, 1)
	got, err := s.Claim(t.Context(), job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatal(got, err)
	}
	j := got.Jobs[0]
	j.State, j.Delay, j.RunAt = job.Queued, time.Hour, time.Time{}
	j.Failures = []job.Failure{{Attempt: 1, Error: "relay refused\nwith more"}}
	if lost, err := s.Settle(t.Context(), 1, job.Outcome{Job: j}); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	failures(t, s, 1, 0, 5)
}

func TestCharts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &statsCounted{Store: memory.New()}
		time.Sleep(2 * time.Hour)
		enqueue(t, s, "mail", `{}`, 3)
		h := dash.New(dash.Config{Store: s})
		has(t, get(t, h, "/"), http.StatusOK, "none reported in the last hour")
		stat(t, s, 3, 50, 0)
		time.Sleep(time.Second)
		has(t, get(t, h, "/"), http.StatusOK, ": 500</title>", ": 50</title>", "Completed <b class=\"num\">100</b>", "Failed attempts <b class=\"num\">10</b>",
			"not Run time <b class=\"num\">–", "not Wait for a worker <b class=\"num\">–", "Queued <b class=\"num\">3</b>", "up to 500")
		has(t, get(t, h, "/queues"), http.StatusOK, `data-label="Per minute">100<`)

		// The hour is read once; after that, only the minutes that may have changed.
		open(t, h, "/", 0)
		time.Sleep(10 * time.Minute)
		if got := time.Since(s.filter.Load().Since); got > 20*time.Minute {
			t.Errorf("stats are read from %v ago on", got)
		}
		stat(t, s, 0, 0, 0)
		time.Sleep(2 * time.Second)
		has(t, get(t, h, "/"), http.StatusOK, ": 500</title>")
		time.Sleep(time.Hour)
		has(t, get(t, h, "/"), http.StatusOK, "not : 500</title>")
	})
}

// TestQueueChart: the length of the queues is what workers have observed, not the sum of their reports.
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
			if _, err := s.Renew(t.Context(), job.Renewal{Worker: worker, Session: 1, Lease: time.Minute, Stats: rows}); err != nil {
				t.Fatal(err)
			}
		}
		has(t, get(t, h, "/"), http.StatusOK, ": 44</title>", ": 2</title>", "Queued <b class=\"num\">0</b>", "Running <b class=\"num\">0</b>")
	})
}

// A statsCounted store records which statistics were read.
type statsCounted struct {
	*memory.Store
	filter atomic.Pointer[job.StatsFilter]
}

func (s *statsCounted) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	s.filter.Store(&f)
	return s.Store.Stats(ctx, f)
}
