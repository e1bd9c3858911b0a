package job_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestWorkerReportsWaitsByKind: a worker reports where the time of its jobs is spent, by kind, including the tasks of the jobs, in whatever slots
// they run.
func TestWorkerReportsWaitsByKind(t *testing.T) {
	for _, watch := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			mail, feed := job.Define[struct{}]("mail"), job.Define[struct{}]("mail/feed")
			hour := func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }
			ctx, stop := context.WithCancel(t.Context())
			err := meanwhile.Run(ctx, func(ctx context.Context) error {
				if watch {
					inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
				}
				for range 3 {
					j, err := mail.New(struct{}{})
					if err != nil {
						return err
					}
					other, err := feed.New(struct{}{})
					if err != nil {
						return err
					}
					if _, err := job.Insert(ctx, store, j, other); err != nil {
						return err
					}
				}
				worker := job.NewWorker(store, job.Config{Grace: -1, Logger: slog.New(slog.DiscardHandler)},
					mail.Handle(func(ctx context.Context, _ struct{}) error { return hour(ctx) }),
					feed.Handle(func(ctx context.Context, _ struct{}) error {
						meanwhile.Go(ctx, hour, meanwhile.Name("page"))
						return meanwhile.Run(ctx, hour)
					}))
				meanwhile.Go(ctx, worker.Run)
				time.Sleep(30 * time.Second)
				workers, err := store.Workers(ctx)
				if err != nil || len(workers) != 1 {
					t.Fatalf("got %v, %v", workers, err)
				}
				check := func(kind string, k job.KindWaits, tasks float64) {
					t.Helper()
					if k.Kind != kind || len(k.Waits) != 1 || !strings.HasPrefix(k.Waits[0].Wait, "sleep, waits_test.go:") || k.Waits[0].Time != k.Time {
						t.Errorf("got %+v, want %s asleep", k, kind)
					}
					if got := k.Time.Seconds() / 20; got < tasks*0.8 || got > tasks*1.5 { // the report is up to ten seconds old
						t.Errorf("%s: got %v tasks on average, want %v", kind, got, tasks)
					}
				}
				switch waits := workers[0].Waits; {
				case !watch && waits != nil:
					t.Errorf("without a watch the worker reports %+v", waits)
				case watch && len(waits) != 2:
					t.Errorf("got %+v", waits)
				case watch:
					check("mail/feed", waits[0], 6)
					check("mail", waits[1], 3)
				}
				stop()
				return nil
			}, meanwhile.Name("shop"))
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
}
