package job_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/job"
)

// order sends a command to a worker, which must be listed by now.
func (r *rig) order(worker string, o job.Command) {
	r.Helper()
	if err := r.store.SendCommand(r.ctx, worker, o); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) worker(name string) job.WorkerInfo {
	r.Helper()
	all, err := r.store.Workers(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	i := slices.IndexFunc(all, func(w job.WorkerInfo) bool { return w.Name == name })
	if i < 0 {
		r.Fatalf("no worker %s among %+v", name, all)
	}
	return all[i]
}

func TestQuietWorkerClaimsNoMoreUntilItResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		worker := job.NewWorker(r.store, job.Config{Name: "w", Logger: slog.New(slog.DiscardHandler)}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Sleep(ctx, 10*time.Second)
		}))
		ctx, stop := context.WithCancel(r.ctx)
		r.stop = stop
		go func() { r.ended <- worker.Run(ctx) }()
		defer r.end()
		running := r.enqueue()
		seconds(5)
		r.order("w", job.Command{Do: job.CommandQuiet})
		seconds(2)
		if info := r.worker("w"); !info.Quiet || info.Stopping || info.Running != 1 || !worker.Health().Quiet {
			t.Errorf("the worker reports %+v, its health is %+v", info, worker.Health())
		}
		waiting := r.enqueue()
		seconds(600)
		r.wantState(running, job.Completed)
		r.wantState(waiting, job.Queued)
		r.order("w", job.Command{Do: job.CommandResume})
		seconds(2)
		r.wantState(waiting, job.Running)
		if info := r.worker("w"); info.Quiet || worker.Health().Quiet {
			t.Errorf("the worker reports %+v, its health is %+v", info, worker.Health())
		}
		seconds(10)
	})
}

func TestWorkerToldToStopEndsGracefully(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		r.startWorker(r.store, job.Config{Name: "w", Grace: 20 * time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Sleep(ctx, 15*time.Second)
		}))
		running := r.enqueue()
		seconds(5)
		r.order("w", job.Command{Do: job.CommandStop})
		seconds(3)
		waiting := r.enqueue()
		if info := r.worker("w"); !info.Stopping || info.Quiet {
			t.Errorf("the worker reports %+v", info)
		}
		seconds(8)
		select {
		case err := <-r.ended:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		default:
			t.Fatal("the worker has not stopped")
		}
		r.wantState(running, job.Completed)
		r.wantState(waiting, job.Queued)
		if workers, err := r.store.Workers(r.ctx); err != nil || len(workers) != 0 {
			t.Errorf("workers %+v, %v", workers, err)
		}
	})
}

func TestOrdersForADeadWorkerAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		renew := func() job.Renewed {
			got, err := r.store.Renew(r.ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		renew()
		for range 2 { // the second time more than a minute after the last renewal
			r.order("w", job.Command{Do: job.CommandStop})
			seconds(30)
		}
		seconds(5)
		if got := renew().Commands; len(got) != 1 {
			t.Errorf("after a minute got commands %+v, want the one that is 35 s old", got)
		}
		for range 100 {
			r.order("w", job.Command{Do: job.CommandQuiet})
		}
		seconds(61)
		r.order("w", job.Command{Do: job.CommandResume}) // there is space again
		if got := renew().Commands; !slices.Equal(got, []job.Command{{Do: job.CommandResume}}) {
			t.Errorf("got commands %+v, want the last one", got)
		}
		if err := r.store.SendCommand(r.ctx, "other", job.Command{Do: job.CommandStop}); !errors.Is(err, job.ErrNoWorker) {
			t.Errorf("command to a worker that never existed: %v", err)
		}
	})
}

func TestCancelOneTaskOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := map[string]error{}
		var mu sync.Mutex
		handler := func(ctx context.Context, _ note) error {
			return meanwhile.Supervise(ctx, func(ctx context.Context) error {
				for _, name := range []string{"a", "b"} {
					meanwhile.Go(ctx, func(ctx context.Context) error {
						err := meanwhile.Sleep(ctx, time.Minute)
						mu.Lock()
						defer mu.Unlock()
						causes[name] = context.Cause(ctx)
						return err
					}, meanwhile.Name(name))
				}
				return nil
			})
		}
		r := newRig(t, job.Config{Name: "w"}, noteKind.Handle(handler))
		id, other := r.enqueue(), r.enqueue()
		seconds(1)
		a := r.findTask(r.watched(id), "a")
		elsewhere := r.findTask(r.watched(other), "b")
		task := func(n *inspect.Node) string { return strconv.FormatUint(uint64(n.ID), 10) }
		for _, o := range []job.Command{
			{Do: job.CommandCancelTask, Job: id, Task: task(a)},
			{Do: job.CommandCancelTask, Job: id, Task: task(elsewhere)}, // a task of another job
			{Do: job.CommandCancelTask, Job: id, Task: "4294967295"},
			{Do: job.CommandCancelTask, Job: id, Task: "-1"},
			{Do: job.CommandCancelTask, Job: job.ID{1}, Task: task(elsewhere)},
			{Do: "dance"},
		} {
			r.order("w", o)
		}
		seconds(2)
		mu.Lock()
		if len(causes) != 1 || causes["a"] == nil || causes["a"].Error() != "somebody canceled this task of the job" {
			t.Errorf("got causes %v", causes)
		}
		mu.Unlock()
		r.wantState(id, job.Running)
		seconds(60)
		r.wantState(id, job.Completed)
		r.wantState(other, job.Completed)
	})
}

// TestTickNowInTheSecondOfAnotherEvent: a cron ticks out of turn even in the second in which it was resumed, or in which it ticked in turn.
func TestTickNowInTheSecondOfAnotherEvent(t *testing.T) {
	for _, resume := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			spec := "@every 10s"
			if resume {
				spec = "0 * * * *"
			}
			ticks := 0
			config := job.Config{Name: "w", Crons: []job.Cron{{Name: "c", Spec: spec, Job: func(time.Time) (*job.Job, error) { return noteKind.New(note{}) }}}}
			seconds(.5) // commands reach the worker between two seconds
			r := newRig(t, config, noteKind.Handle(func(context.Context, note) error { ticks++; return nil }))
			seconds(599.5)
			before := ticks
			const times = 10
			for i := range times { // at another tenth of a second each time
				seconds(float64(i)/10 + .01)
				for _, paused := range []bool{resume, false} {
					if err := r.store.PauseCron(r.ctx, "c", paused); err != nil {
						t.Fatal(err)
					}
				}
				r.order("w", job.Command{Do: job.CommandTick, Cron: "c"})
				seconds(9.99 - float64(i)/10)
			}
			want := times
			if !resume {
				want *= 2
			}
			if got := ticks - before; got != want {
				t.Errorf("resumed: %t: %d ticks, want %d", resume, got, want)
			}
		})
	}
}

func TestTickNowCountsOnceWithTwoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ticks []string
		config := job.Config{Name: "one", Crons: []job.Cron{{Name: "hourly", Spec: "0 * * * *", Job: func(at time.Time) (*job.Job, error) {
			return noteKind.New(note{at.Format("15:04:05")})
		}}}}
		handler := noteKind.Handle(func(_ context.Context, n note) error {
			mu.Lock()
			defer mu.Unlock()
			ticks = append(ticks, n.Text)
			return nil
		})
		r := newRig(t, config, handler)
		other := &rig{T: t, ctx: r.ctx, store: r.store, ended: make(chan error, 1)}
		config.Name = "two"
		other.startWorker(r.store, config, handler)
		seconds(600.5)
		if got := r.worker("two").Crons; !slices.Equal(got, []string{"hourly"}) {
			t.Errorf("the worker reports the crons %q", got)
		}
		for range 3 { // several clicks in quick succession, on either worker
			r.order("one", job.Command{Do: job.CommandTick, Cron: "hourly"})
			r.order("two", job.Command{Do: job.CommandTick, Cron: "hourly"})
		}
		r.order("two", job.Command{Do: job.CommandTick, Cron: "unknown"})
		seconds(2)
		cron := func() job.CronInfo {
			crons, err := r.store.Crons(r.ctx)
			if err != nil || len(crons) != 1 {
				t.Fatalf("crons %+v, %v", crons, err)
			}
			return crons[0]
		}
		if c := cron(); c.Last.Format("15:04:05") != "00:10:01" || c.Next.Format("15:04") != "01:00" || c.Job == (job.ID{}) {
			t.Errorf("got cron %+v", c)
		}
		if err := r.store.PauseCron(r.ctx, "hourly", true); err != nil {
			t.Fatal(err)
		}
		r.order("two", job.Command{Do: job.CommandTick, Cron: "hourly"})
		seconds(10)
		if err := r.store.PauseCron(r.ctx, "hourly", false); err != nil {
			t.Fatal(err)
		}
		seconds(3600)
		other.stop()
		if err := <-other.ended; err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"00:10:01", "01:00:00"}; !slices.Equal(ticks, want) {
			t.Errorf("ticks %q, want %q", ticks, want)
		}
	})
}
