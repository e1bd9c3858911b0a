package scope

import (
	"context"
	"testing"
	"time"
)

// BenchmarkWake wakes waiters that nobody waits for: it is what the end of a wait costs its waker, without the scheduler.
func BenchmarkWake(b *testing.B) {
	w := new(BlockedWait)
	for b.Loop() {
		w.state.Store(0)
		w.Ready()
		w.Wake()
	}
}

// BenchmarkIdentity asks for the number of a waiter that has one, as each snapshot does.
func BenchmarkIdentity(b *testing.B) {
	w := new(BlockedWait)
	for b.Loop() {
		w.Identity()
	}
}

// BenchmarkSleep is a wait of a task from its beginning to its end, for a time that has come at once.
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
