package meanwhile

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Sleep waits for d and returns nil, or returns ctx's error with its cause as soon as ctx is canceled. A d of zero or
// less does not wait. A sleeping task holds about 280 bytes more than a bare goroutine in time.Sleep.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return scope.CtxError(ctx)
	}
	n, own := ctx.(*scope.Node)
	if !own {
		if err := scope.CtxError(ctx); err != nil {
			return err
		}
		if n = scope.From(ctx); n == nil {
			return sleepAlone(ctx, d)
		}
	}
	// All of this is in one function, since a snapshot takes longer the deeper the stacks are.
	alarm := n.SetAlarm(d)
	alarm.Block(ctx, alarm)
	if err := scope.CtxError(ctx); err != nil && n.StopAlarm(alarm) {
		return err
	}
	return nil
}

// sleepAlone is Sleep outside of any tree. It is a separate function so that a Sleep in a tree has no space for its
// variables on the stack.
//
//go:noinline
func sleepAlone(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return scope.CtxError(ctx)
	}
}

// Every starts a background task that calls fn every d, the first time after d, until its scope ends, it is canceled, fn
// returns [Stop], or fn fails, which fails the scope. The calls do not overlap: when one takes longer than d, the times it
// covers are skipped, and the next call is at the next multiple of d after the start. Every panics unless d is positive and
// fn is not nil.
func Every(ctx context.Context, d time.Duration, fn func(ctx context.Context) error, opts ...TaskOption) *Task[struct{}] {
	if d <= 0 {
		panic("meanwhile: Every(" + d.String() + "): give a positive duration")
	}
	if fn == nil {
		panic("meanwhile: Every with a nil function: give the one to call each time")
	}
	return Go(ctx, func(ctx context.Context) error {
		start := time.Now()
		for {
			if err := Sleep(ctx, d-time.Since(start)%d); err != nil {
				return err
			}
			if err := fn(ctx); err != nil {
				if scope.Stops(ctx, err, Stop) {
					return nil
				}
				return err
			}
		}
	}, append([]TaskOption{InBackground()}, opts...)...)
}

// Stop is what the function of [Every], or of OnSignal in package process, returns to end it without a failure. It may be
// wrapped; an error that is joined with it is a failure. Returned by another function, it is a failure like any other.
var Stop error = stopped{}

type stopped struct{}

func (stopped) Error() string { return "meanwhile.Stop, which only ends Every and OnSignal" }
