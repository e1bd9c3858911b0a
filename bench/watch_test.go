//go:build unix

package bench

import (
	"context"
	"log/slog"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"

	"github.com/meanwhile-go/meanwhile"
)

// BenchmarkWatch reports how much of one processor a program with 5,000 waiting tasks of 50 names uses, without and with a watch
// with its defaults, and how many snapshots the wait profile of the watch has.
func BenchmarkWatch(b *testing.B) {
	const tasks, names = 5000, 50
	long := time.Minute
	if once() {
		long = time.Second
	}
	for _, watch := range []string{"none", "default"} {
		b.Run("watch="+watch, func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
					if watch != "none" {
						inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
					}
					api := meanwhile.NewSemaphore(10)
					for i := range tasks {
						meanwhile.Go(ctx, func(ctx context.Context) error { return waitSomehow(ctx, i, api) },
							meanwhile.Name("task "+strconv.Itoa(i%names)), meanwhile.InBackground())
					}
					if err := meanwhile.Sleep(ctx, 5*long/60); err != nil { // until the watch has reached its regular interval
						return err
					}
					before := processorTime()
					err := meanwhile.Sleep(ctx, long)
					used += processorTime() - before
					if p := inspect.Waits(); p.Snapshots > 0 {
						b.ReportMetric(float64(p.Snapshots), "snapshots")
						b.ReportMetric(milliseconds(p.Took)/float64(p.Snapshots), "ms/snapshot")
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(100*used.Seconds()/(float64(b.N)*long.Seconds()), "%cpu")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkSpawnWatched opens a scope, starts 1,000 tasks that do nothing, and waits for them: alone, and while a watch with its
// defaults runs and 5,000 tasks wait.
func BenchmarkSpawnWatched(b *testing.B) {
	const waiting, started = 5000, 1000
	for _, watch := range []string{"none", "default"} {
		b.Run("watch="+watch, func(b *testing.B) {
			err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
				if watch != "none" {
					inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
				}
				api := meanwhile.NewSemaphore(10)
				for i := range waiting {
					meanwhile.Go(ctx, func(ctx context.Context) error { return waitSomehow(ctx, i, api) }, meanwhile.InBackground())
				}
				if !once() {
					if err := meanwhile.Sleep(ctx, 5*time.Second); err != nil { // until the watch has reached its regular interval
						return err
					}
				}
				for b.Loop() {
					err := meanwhile.Run(ctx, func(ctx context.Context) error {
						for range started {
							meanwhile.Go(ctx, func(context.Context) error { return nil })
						}
						return nil
					})
					if err != nil {
						return err
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*started), "ns/task")
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// waitSomehow makes a quarter of the tasks wait for each of four things.
func waitSomehow(ctx context.Context, i int, api *meanwhile.Semaphore) error {
	never := make(chan int)
	for {
		var err error
		switch i % 4 {
		case 0:
			err = meanwhile.Sleep(ctx, time.Minute)
		case 1:
			select {
			case <-never:
			case <-ctx.Done():
				err = ctx.Err()
			}
		case 2:
			if err = api.Acquire(ctx, 1); err == nil {
				err = meanwhile.Sleep(ctx, time.Second)
				api.Release(1)
			}
		case 3:
			err = meanwhile.Run(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Minute) })
		}
		if err != nil {
			return err
		}
	}
}

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
