package scope

import (
	"context"
	"testing"
	"time"
)

// BenchmarkWake wakes waiters whose goroutines do not wait: it measures the cost of ending a wait for the waker, without the scheduler.
func BenchmarkWake(b *testing.B) {
	w := new(BlockedWait)
	for b.Loop() {
		w.state.Store(0)
		w.Ready()
		w.Wake()
	}
}

// BenchmarkIdentity reads the number of a waiter that has one, as each snapshot does.
func BenchmarkIdentity(b *testing.B) {
	w := new(BlockedWait)
	for b.Loop() {
		w.Identity()
	}
}

// BenchmarkSleep measures a task's wait, from its start to its end, for a time that comes at once.
func BenchmarkSleep(b *testing.B) {
	err := NewScope().Run(context.Background(), KindRun, func(ctx context.Context) error {
		for b.Loop() {
			alarm := From(ctx).SetAlarm(time.Nanosecond)
			alarm.Block(ctx, alarm)
		}
		return nil
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
}
