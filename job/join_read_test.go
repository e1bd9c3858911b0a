package job_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

func (r *trio) renew(worker string, stats ...job.Stat) job.Renewed {
	r.Helper()
	got, err := r.joined.Renew(r.ctx, job.Renewal{
		Worker: worker, Session: job.Session(len(worker)), Lease: time.Minute, Info: job.WorkerInfo{Started: time.Unix(1, 0)}, Stats: stats,
	})
	r.must(err)
	return got
}

// TestJoinedStatsCountOnce: this holds even if the store that keeps the stats of a worker does not answer for a while.
func TestJoinedStatsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		minute := time.Now().Truncate(time.Minute)
		row := func(worker string, n int64) job.Stat {
			return job.Stat{Minute: minute, Worker: worker, Queue: "q", Kind: "k", Completed: n}
		}
		completed := func() (all []int64) {
			stats, err := r.joined.Stats(r.ctx, job.StatsFilter{})
			r.must(err)
			for _, s := range stats {
				all = append(all, s.Completed)
			}
			return all
		}
		var first, second []int64
		for i := range 12 {
			worker := fmt.Sprintf("w%02d", i)
			r.renew(worker, row(worker, 1))
			first, second = append(first, 1), append(second, 2)
		}
		if got := completed(); !slices.Equal(got, first) {
			t.Errorf("completed by worker: %v, want %v", got, first)
		}
		rows := 0
		for _, s := range r.stores {
			stats, err := s.Stats(r.ctx, job.StatsFilter{})
			r.must(err)
			rows += len(stats)
		}
		if rows != 12 {
			t.Errorf("the stores have %d rows, want one for each worker", rows)
		}
		for away := range r.away {
			r.away[away].Store(true)
			for i := range 12 {
				worker := fmt.Sprintf("w%02d", i)
				r.renew(worker, row(worker, 2))
			}
			if got := completed(); !slices.Equal(got, second) {
				t.Errorf("without store %d, completed by worker: %v, want %v", away+1, got, second)
			}
			r.away[away].Store(false)
			time.Sleep(10 * time.Second)
			if got := completed(); !slices.Equal(got, second) {
				t.Errorf("with store %d again, completed by worker: %v, want %v", away+1, got, second)
			}
		}
	})
}

// TestJoinedOrdersComeOnce: a listed worker receives each command once and in order, even while a store does not answer.
func TestJoinedOrdersComeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		if err := r.joined.SendCommand(r.ctx, "w", job.Command{Do: job.CommandStop}); !errors.Is(err, job.ErrNoWorker) {
			t.Errorf("command to a worker that does not exist: %v, want ErrNoWorker", err)
		}
		for away := range r.away {
			for i := range 8 {
				worker := fmt.Sprint("w", i)
				r.renew(worker)
				r.away[away].Store(true)
				var want []job.Command
				for n := range 5 {
					o := job.Command{Do: job.CommandTick, Cron: fmt.Sprint(n)}
					r.must(r.joined.SendCommand(r.ctx, worker, o))
					want = append(want, o)
				}
				if got := r.renew(worker).Commands; !slices.Equal(got, want) {
					t.Errorf("worker %s got %v, want %v", worker, got, want)
				}
				r.away[away].Store(false)
				time.Sleep(10 * time.Second)
				if got := r.renew(worker).Commands; len(got) > 0 {
					t.Errorf("worker %s got %v again", worker, got)
				}
			}
		}
		if workers, err := r.joined.Workers(r.ctx); err != nil || len(workers) != 8 {
			t.Errorf("%d workers are listed, %v; want 8", len(workers), err)
		}
	})
}

// TestJoinedWaitIsWokenByAnyStore: for a while, nothing else wakes it.
func TestJoinedWaitIsWokenByAnyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrio(t)
		r.away[1].Store(true)
		for _, at := range []int{0, 2} {
			woken := make(chan error, 1)
			begun := time.Now()
			go func() {
				_, err := r.joined.Wait(r.ctx, "q")
				woken <- err
			}()
			time.Sleep(3 * time.Second)
			r.insertAt(at, job.Queue("q"))
			r.must(<-woken)
			if took := time.Since(begun); took != 3*time.Second {
				t.Errorf("the wait returned after %v, want 3s, when store %d has a job", took, at+1)
			}
		}
	})
}
