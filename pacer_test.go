package meanwhile_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
)

func TestPacerSpacesStartsEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(4, time.Second), time.Now()
		for i := range 9 {
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), time.Duration(i)*250*time.Millisecond; got != want {
				t.Errorf("start %d at %v, want %v", i, got, want)
			}
		}
		// Starts that were not used for an hour are not saved up.
		time.Sleep(time.Hour)
		start = time.Now()
		for range 3 {
			_ = p.Wait(t.Context())
		}
		if got := time.Since(start); got != 500*time.Millisecond {
			t.Errorf("three starts after a pause took %v, want 500 ms", got)
		}
	})
}

func TestPacerServesInOrderOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Rate(1, time.Second)
		var order journal[int]
		for i := range 5 {
			go func() {
				_ = p.Wait(t.Context())
				order.add(i)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if got := order.all(); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Errorf("order %v", got)
		}
	})
}

func TestPacerWaiterThatGivesUpGivesItsTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start, reason := Rate(1, time.Second), time.Now(), errors.New("reason")
		var at journal[time.Duration]
		ctxs, cancels := make([]context.Context, 6), make([]context.CancelCauseFunc, 6)
		for i := range 6 { // their turns are at 0 to 5 s
			ctxs[i], cancels[i] = context.WithCancelCause(t.Context())
			defer cancels[i](nil)
			go func() {
				err := p.Wait(ctxs[i])
				if canceled := i == 1 || i == 3; canceled != (err != nil) || canceled && (!errors.Is(err, reason) || !errors.Is(err, context.Canceled)) {
					t.Errorf("waiter %d got %v", i, err)
				}
				if err == nil {
					at.add(time.Since(start))
				}
			}()
			synctest.Wait()
		}
		time.Sleep(100 * time.Millisecond)
		cancels[3](reason) // in the middle of the queue
		cancels[1](reason) // the one whose turn is next
		time.Sleep(time.Minute)
		s := time.Second
		if want := []time.Duration{0, s, 2 * s, 3 * s}; !slices.Equal(at.all(), want) {
			t.Errorf("starts at %v, want %v: later callers move forward", at.all(), want)
		}
	})
}

func TestPacerRefusesToWaitBeyondADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(1, time.Second), time.Now()
		wait := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return p.Wait(ctx)
		}
		if err := wait(time.Millisecond); err != nil {
			t.Errorf("the first call: got %v, want its turn immediately", err)
		}
		err := wait(500 * time.Millisecond)
		var timeout interface{ Timeout() bool }
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want the error of the deadline immediately", err, time.Since(start))
		}
		if want := "rate: the turn comes in 1s, the deadline of ctx in 500ms: context deadline exceeded"; err != nil && err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		// That call has used up no turn. Waiting calls count for the next one.
		for range 3 { // their turns are at 1, 2 and 3 s
			go func() { _ = p.Wait(t.Context()) }()
			synctest.Wait()
		}
		if err := wait(3500 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want the error of the deadline immediately: the turn is at 4 s", err, time.Since(start))
		}
		if err := wait(4500 * time.Millisecond); err != nil || time.Since(start) != 4*time.Second {
			t.Errorf("got %v after %v, want the turn at 4 s", err, time.Since(start))
		}
	})
}

func TestPacerSetHoldsForThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(1, time.Hour), time.Now()
		var at journal[time.Duration]
		for range 4 {
			go func() {
				_ = p.Wait(t.Context())
				at.add(time.Since(start))
			}()
			synctest.Wait()
		}
		time.Sleep(10 * time.Minute)
		p.Set(1, time.Minute) // starts that the old rate delayed are not made up for
		time.Sleep(90 * time.Second)
		p.Set(1, 10*time.Minute)
		time.Sleep(time.Hour)
		m := time.Minute
		if want := []time.Duration{0, 10 * m, 11 * m, 21 * m}; !slices.Equal(at.all(), want) {
			t.Errorf("starts at %v, want %v", at.all(), want)
		}
	})
}

// For any calls, cancellations and changes of the deadline: turns are in order and spaced, and none is lost to a canceled
// caller.
func TestPacerLawOfGivingUp(t *testing.T) {
	type caller struct{ Asks, Patience int }
	rapid.Check(t, func(r *rapid.T) {
		callers := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) caller {
			return caller{rapid.IntRange(0, 3000).Draw(r, "asks after"), rapid.IntRange(1, 9000).Draw(r, "patience")}
		}), 1, 15).Draw(r, "callers")
		var at []time.Duration
		got := make([]error, len(callers))
		synctest.Test(t, func(t *testing.T) {
			p, start := Rate(1, time.Second), time.Now()
			var starts journal[time.Duration]
			for i, c := range callers {
				time.Sleep(time.Duration(c.Asks) * time.Millisecond)
				go func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer time.AfterFunc(time.Duration(c.Patience)*time.Millisecond, cancel).Stop()
					if got[i] = p.Wait(ctx); got[i] == nil {
						starts.add(time.Since(start))
					}
				}()
				synctest.Wait()
			}
			time.Sleep(time.Minute)
			at = starts.all()
		})
		// The expected turns: a caller that gives up before its turn has no effect on the others.
		var want []time.Duration
		now, last := time.Duration(0), -time.Second
		for i, c := range callers {
			now += time.Duration(c.Asks) * time.Millisecond
			turn := max(now, last+time.Second)
			gives := now + time.Duration(c.Patience)*time.Millisecond
			if got[i] == nil {
				last = turn
				want = append(want, turn)
			} else if turn < gives {
				r.Fatalf("caller %d gave up at %v, its turn was at %v; starts %v", i, gives, turn, at)
			}
		}
		if !slices.Equal(at, want) {
			r.Fatalf("starts at %v, want %v", at, want)
		}
	})
}

// Items of streams that share a pacer, and calls of Wait, are spaced together.
func TestPacerSpacesItemsOfStreamsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(10, time.Second), time.Now()
		at := make(chan time.Duration, 100)
		err := Run(t.Context(), func(ctx context.Context) error {
			for range 2 {
				Go(ctx, func(ctx context.Context) error {
					return Each(ctx, upTo(10), func(ctx context.Context, _ int) error {
						at <- time.Since(start)
						return Sleep(ctx, time.Minute)
					}, p)
				})
			}
			Go(ctx, func(ctx context.Context) error {
				for range 5 {
					if err := p.Wait(ctx); err != nil {
						return err
					}
					at <- time.Since(start)
				}
				return nil
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		close(at)
		want := time.Duration(0)
		n := 0
		for got := range at {
			if got != want {
				t.Errorf("start %d at %v, want %v", n, got, want)
			}
			n, want = n+1, want+100*time.Millisecond
		}
		if n != 25 {
			t.Errorf("%d starts, want 25", n)
		}
	})
}

// An item whose turn does not come before the stream is canceled never runs.
func TestPacerEndsWithTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var ran journal[int]
		err := Each(ctx, upTo(10), func(_ context.Context, i int) error { ran.add(i); return nil }, Rate(1, time.Second))
		if !errors.Is(err, context.DeadlineExceeded) || len(ran.all()) != 3 {
			t.Errorf("%v ran, error %v; want three and the deadline", ran.all(), err)
		}
	})
}

// With more starts than nanoseconds in the period, the interval is one nanosecond.
func TestPacerIntervalIsPositive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(10, 1), time.Now()
		_, _ = p.Wait(t.Context()), p.Wait(t.Context())
		if got := time.Since(start); got != 1 {
			t.Errorf("second start after %v, want 1 ns", got)
		}
	})
}

// However the calls come, no period has more than n+1 starts.
func TestPacerOfManyStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start, starts := Rate(60_000, time.Second), time.Now(), 0
		for p.Wait(t.Context()) == nil && time.Since(start) <= time.Second {
			starts++
		}
		if starts < 59_900 || starts > 60_001 {
			t.Errorf("%d starts in a second, want 60,000 or 60,001", starts)
		}
	})
}

func TestPacerLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(r, "n")
		per := time.Duration(rapid.IntRange(1, 1000).Draw(r, "per")) * time.Millisecond
		pauses := rapid.SliceOfN(rapid.IntRange(0, 700), 1, 40).Draw(r, "pauses in ms")
		var at []time.Duration
		synctest.Test(t, func(t *testing.T) {
			p, start := Rate(n, per), time.Now()
			starts := make(chan time.Duration, len(pauses))
			for _, pause := range pauses {
				time.Sleep(time.Duration(pause) * time.Millisecond)
				go func() {
					_ = p.Wait(t.Context())
					starts <- time.Since(start)
				}()
			}
			for range pauses {
				at = append(at, <-starts)
			}
		})
		for i := n + 1; i < len(at); i++ {
			if at[i]-at[i-n-1] < per {
				r.Fatalf("starts %v: more than %d in %v", at[i-n-1:i+1], n+1, per)
			}
		}
	})
}

// TestPacerAfterASuspension: starts that were due while the program was suspended do not all come when it continues.
func TestPacerAfterASuspension(t *testing.T) {
	for _, tt := range []struct {
		n, most int // in the second after the suspension
	}{{1, 2}, {10, 11}, {1000, 1011}} {
		synctest.Test(t, func(t *testing.T) {
			p := Rate(tt.n, time.Second)
			var starts journal[time.Duration]
			begun := time.Now()
			for range 10 * tt.n {
				go func() {
					_ = p.Wait(t.Context())
					starts.add(time.Since(begun))
				}()
			}
			time.Sleep(time.Second)
			synctest.Wait()
			before := len(starts.all())
			p.Suspend(4 * time.Second)
			time.Sleep(time.Minute)
			n := 0
			for _, at := range starts.all()[before:] {
				if at < 2*time.Second {
					n++
				}
			}
			if n < tt.n || n > tt.most {
				t.Errorf("Rate(%d, 1s): %d starts in the second after a suspension, want %d to %d", tt.n, n, tt.n, tt.most)
			}
		})
	}
}
