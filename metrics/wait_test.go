package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// TestTaskWaits: the counters have the time of the tasks, whenever they are collected. They also count names that come back after the profile has
// forgotten them, and keep their values after the watch has ended.
func TestTaskWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rounds := testenv.Rounds(2, 3)
		m := metrics.New(metrics.Config{})
		slept := func() float64 {
			return gather(t, m)[`meanwhile_task_wait_seconds_total{task="shop/order",wait="sleep"}`]
		}
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
			sleep := func(d time.Duration) { _ = meanwhile.Sleep(ctx, d) }
			want := 0.0
			for range rounds {
				for range 4 {
					meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, 30*time.Second) }, meanwhile.Name("order"))
				}
				sleep(10 * time.Second)
				if got := slept(); math.Abs(got-want-40) > 2 {
					t.Errorf("%.1f s, want %v", got, want+40)
				}
				sleep(40 * time.Second)
				want += 120
				if got := slept(); math.Abs(got-want) > 6 {
					t.Errorf("%.1f s, want %v", got, want)
				}
				sleep(2 * time.Minute)
				slept()
			}
			return nil
		}, meanwhile.Name("shop"))
		if err != nil {
			t.Error(err)
		}
		if got, want := slept(), float64(120*rounds); math.Abs(got-want) > 6 {
			t.Errorf("after the end of the watch %.1f s, want %v", got, want)
		}
	})
}

// TestTaskWaitsAreBounded: with three times as many names as there are places, the others are counted together.
func TestTaskWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 3 * metrics.MaxLabels
		m := metrics.New(metrics.Config{})
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)})
			for i := range many {
				meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.Name(fmt.Sprint(i)), meanwhile.InBackground())
			}
			_ = meanwhile.Sleep(ctx, 10*time.Second)
			count, sum := 0, 0.0
			for name, seconds := range gather(t, m) {
				if strings.HasPrefix(name, "meanwhile_task_wait_seconds_total{") {
					count++
					sum += seconds
				}
			}
			if want := (many + 1) * inspect.Waits().Window.Seconds(); count != metrics.MaxLabels+1 || math.Abs(sum-want) > 1e-3 {
				t.Errorf("%d series with %.1f s, want %d with %.1f s", count, sum, metrics.MaxLabels+1, want)
			}
			return nil
		}, meanwhile.Name("shop"))
		if err != nil {
			t.Error(err)
		}
	})
}
