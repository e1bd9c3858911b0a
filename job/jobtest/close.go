package jobtest

import (
	"context"
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var closePromises = []promise{
	{"ping answers", func(f *fixture) {
		if err := f.Ping(f.ctx); err != nil {
			f.Errorf("ping: %v", err)
		}
	}},
	{"close releases those that wait", func(f *fixture) {
		ended := make(chan error, 2)
		for _, queues := range [][]string{{"idle"}, {"idle", "other"}} {
			f.spawn(func(ctx context.Context) {
				_, err := f.Wait(ctx, queues...)
				for err == nil { // a wait may return nil without a cause
					_, err = f.Wait(ctx, queues...)
				}
				ended <- err
			})
		}
		time.Sleep(2 * pause)
		f.close()
		for range 2 {
			select {
			case err := <-ended:
				if !errors.Is(err, job.ErrClosed) {
					f.Errorf("wait returned %v, want ErrClosed", err)
				}
			case <-f.ctx.Done():
				f.Fatal("wait did not return when the store was closed")
			}
		}
	}},
	{"all calls return ErrClosed after close", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.close()
		j.State = job.Completed
		for name, err := range f.calls(f.ctx, j) {
			if !errors.Is(err, job.ErrClosed) {
				f.Errorf("%s returned %v, want ErrClosed", name, err)
			}
		}
	}},
	{"all calls return the error of a canceled ctx and do nothing", func(f *fixture) {
		j := f.insertLeased("w", long)
		j.State = job.Completed
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		for name, err := range f.calls(ctx, j) {
			if !errors.Is(err, context.Canceled) {
				f.Errorf("%s returned %v, want context.Canceled", name, err)
			}
		}
		f.counts(job.Count{Queue: job.DefaultQueue, Kind: "k", State: job.Running, N: 1})
		if n := len(f.crons()) + len(f.workers()); n != 0 {
			f.Errorf("there are %d crons and workers", n)
		}
	}},
}

func (f *fixture) close() {
	f.Helper()
	f.closed = true
	if err := f.Close(); err != nil {
		f.Fatalf("close: %v", err)
	}
}

// calls calls each method once and yields its name and error.
func (f *fixture) calls(ctx context.Context, held *job.Job) func(yield func(string, error) bool) {
	return func(yield func(string, error) bool) {
		next := f.job()
		for _, call := range []struct {
			name string
			do   func() error
		}{
			{"Insert", func() error { _, err := f.Insert(ctx, next); return err }},
			{"Settle", func() error { _, err := f.Settle(ctx, sessionOf("w"), job.Outcomes(held)...); return err }},
			{"Claim", func() error {
				_, err := f.Claim(ctx, job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long})
				return err
			}},
			{"Renew", func() error {
				_, err := f.Renew(ctx, job.Renewal{Worker: "w", Session: sessionOf("w"), Lease: long, Jobs: []job.ID{held.ID}})
				return err
			}},
			{"Leave", func() error { return f.Leave(ctx, "w", sessionOf("w")) }},
			{"Wait", func() error { _, err := f.Wait(ctx, job.DefaultQueue); return err }},
			{"Watch", func() error { _, err := f.Watch(ctx, held.ID, long); return err }},
			{"Order", func() error { return f.SendCommand(ctx, "w", job.Command{Do: job.CommandQuiet}) }},
			{"Stats", func() error { _, err := f.Stats(ctx, job.StatsFilter{}); return err }},
			{"Apply", func() error { _, err := f.Apply(ctx, job.Filter{Limit: 1}, job.ActionCancel); return err }},
			{"List", func() error { _, err := f.List(ctx, job.Filter{Limit: 1}); return err }},
			{"Counts", func() error { _, err := f.Counts(ctx); return err }},
			{"Queues", func() error { _, err := f.Queues(ctx); return err }},
			{"Pause", func() error { return f.Pause(ctx, job.DefaultQueue, true) }},
			{"SetLimits", func() error { return f.SetLimits(ctx, job.DefaultQueue, job.Limits{Running: 1}) }},
			{"SetKeyLimits", func() error { return f.SetKeyLimits(ctx, job.DefaultQueue, "a", job.KeyLimits{Running: 1}) }},
			{"Overrides", func() error { _, err := f.Overrides(ctx, job.DefaultQueue, "", 1); return err }},
			{"Limits", func() error { _, err := f.Limits(ctx, job.DefaultQueue, ""); return err }},
			{"Workers", func() error { _, err := f.Workers(ctx); return err }},
			{"Tick", func() error {
				_, err := f.Tick(ctx, job.Tick{Cron: "c", Spec: "s", At: cronTime(0), Next: cronTime(1), Job: next})
				return err
			}},
			{"Crons", func() error { _, err := f.Crons(ctx); return err }},
			{"PauseCron", func() error { return f.PauseCron(ctx, "c", true) }},
			{"Prune", func() error {
				_, err := f.Prune(ctx, map[job.State]time.Duration{job.Completed: 0}, 10)
				return err
			}},
			{"Audit", func() error { return f.Audit(ctx, job.AuditEntry{Action: "a"}) }},
			{"Audited", func() error { _, err := f.Audited(ctx, 0, 1); return err }},
			{"Ping", func() error { return f.Ping(ctx) }},
		} {
			if !yield(call.name, call.do()) {
				return
			}
		}
	}
}
