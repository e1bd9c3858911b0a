package meanwhile

import (
	"context"
	"errors"
	"time"
)

// Sleep waits for d and returns nil, or returns ctx's error with its cause as soon as ctx is canceled. A d of zero or
// less does not wait. A sleeping task holds about 280 bytes more than a bare goroutine in time.Sleep.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctxError(ctx)
	}
	if n, ok := ctx.(*node); ok {
		return n.sleep(ctx, d)
	}
	if err := ctxError(ctx); err != nil {
		return err
	}
	if n := from(ctx); n != nil {
		return n.sleep(ctx, d)
	}
	return sleepAlone(ctx, d)
}

// sleepAlone is Sleep outside of any tree. It is apart because of the room that it takes on the stack: see docs/design.md,
// "Sleep".
//
//go:noinline
func sleepAlone(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

// After starts a task that waits for d and then calls fn. Its scope waits for it; cancel it to give it up.
func After(ctx context.Context, d time.Duration, fn func(ctx context.Context) error, opts ...TaskOption) *Task[Void] {
	return Go(ctx, func(ctx context.Context) error {
		if err := Sleep(ctx, d); err != nil {
			return err
		}
		return fn(ctx)
	}, opts...)
}

// Every starts a background task that calls fn each d, first after one d, until its scope ends, it is canceled, fn
// returns [Stop], or fn fails, which fails the scope. The calls do not overlap: one that takes longer than d lets the
// times it covers pass, and the next call is at the next multiple of d after the start. It panics unless d is positive.
func Every(ctx context.Context, d time.Duration, fn func(ctx context.Context) error, opts ...TaskOption) *Task[Void] {
	if d <= 0 {
		panic("meanwhile: Every(" + d.String() + "): give a positive duration")
	}
	return Go(ctx, func(ctx context.Context) error {
		start := time.Now()
		for {
			if err := Sleep(ctx, d-time.Since(start)%d); err != nil {
				return err
			}
			if err := fn(ctx); err != nil {
				return unlessStop(err)
			}
		}
	}, append([]TaskOption{Background()}, opts...)...)
}

// Stop is what the function of [Every] or [OnSignal] returns to end it without a failure. It may be wrapped. From other
// functions it is a failure like others.
var Stop error = stopped{}

type stopped struct{}

func (stopped) Error() string { return "meanwhile.Stop, which only ends Every and OnSignal" }

func unlessStop(err error) error {
	if errors.Is(err, Stop) {
		return nil
	}
	return err
}
