package bench

import (
	"context"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

// BenchmarkSleep has 10,000 tasks wait ten times for 1 ms. That is more than two processors can do in time, so it shows the
// processor time of a wait. All are tasks of meanwhile; they differ in how they wait.
func BenchmarkSleep(b *testing.B) {
	const n, times, wait = 10_000, 10, time.Millisecond
	for _, s := range []struct {
		with  string
		sleep func(ctx context.Context, d time.Duration) error
	}{
		{"time.Sleep", bare.sleep},
		{"timer-and-ctx", sleep},
		{"meanwhile.Sleep", meanwhile.Sleep},
	} {
		b.Run("with="+s.with, func(b *testing.B) {
			measure(b, n*times, "sleep", func() error {
				return runMeanwhile(b.Context(), n, func(ctx context.Context, _ int) error {
					for range times {
						if err := s.sleep(ctx, wait); err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
	}
}

// BenchmarkOption maps 100,000 trivial items with one option in addition to a limit.
func BenchmarkOption(b *testing.B) {
	const n, limit = 100_000, 64
	for _, o := range []struct {
		name string
		opts []meanwhile.StreamOption
	}{
		{"none", []meanwhile.StreamOption{meanwhile.Limit(limit)}},
		{"unordered", []meanwhile.StreamOption{meanwhile.Limit(limit), meanwhile.Unordered()}},
		{"adaptive", []meanwhile.StreamOption{meanwhile.AdaptiveLimit(limit, limit)}},
		{"timeout", []meanwhile.StreamOption{meanwhile.Limit(limit), meanwhile.Timeout(time.Hour)}},
		{"retry", []meanwhile.StreamOption{meanwhile.Limit(limit), meanwhile.Retry(retry.Policy{})}},
		{"observe", []meanwhile.StreamOption{meanwhile.Limit(limit), meanwhile.Observe(func(meanwhile.Event) {})}},
		{"rate", []meanwhile.StreamOption{meanwhile.Limit(limit), meanwhile.Rate(1, time.Nanosecond)}},
	} {
		b.Run("option="+o.name, func(b *testing.B) {
			run, _ := openMapWith(o.opts...)
			items := numbers(n)
			measure(b, n, "item", func() error {
				_, err := run(b.Context(), items, double)
				return err
			})
		})
	}
}
