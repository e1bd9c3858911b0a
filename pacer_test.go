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
		// What nobody asked for in an hour is not saved up.
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

func TestPacerWaitEndsWithItsContextAndLosesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start, reason := Rate(1, time.Second), time.Now(), errors.New("reason")
		_ = p.Wait(t.Context())
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(100 * time.Millisecond)
			cancel(reason)
		}()
		if err := p.Wait(ctx); !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("canceled at 100 ms, returned at %v", got)
		}
		_ = p.Wait(t.Context())
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("the next start was at %v, want 2 s: the turn at 1 s is lost", got)
		}
	})
}

func TestPacerSetLeavesTurnsThatWereGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(1, time.Second), time.Now()
		var at journal[time.Duration]
		wait := func() {
			_ = p.Wait(t.Context())
			at.add(time.Since(start))
		}
		for range 3 { // turns at 0, 1 and 2 s
			go wait()
			synctest.Wait()
		}
		p.Set(10, time.Second)
		for range 3 { // these at the new rate, after the turns that were given
			go wait()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		s, ms := time.Second, time.Millisecond
		if want := []time.Duration{0, s, 2 * s, 2100 * ms, 2200 * ms, 2300 * ms}; !slices.Equal(at.all(), want) {
			t.Errorf("starts at %v, want %v", at.all(), want)
		}
	})
}

// Streams that share a pacer, and calls of Wait, are spaced together.
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

// An item whose turn does not come before the stream is canceled does not run.
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

// More starts than nanoseconds are a start per nanosecond.
func TestPacerIntervalIsPositive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := Rate(10, 1), time.Now()
		_, _ = p.Wait(t.Context()), p.Wait(t.Context())
		if got := time.Since(start); got != 1 {
			t.Errorf("second start after %v, want 1 ns", got)
		}
	})
}

// However the calls come, in no period are there more than n+1 starts.
func TestPacerOfManyStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start, starts := Rate(60_000, time.Second), time.Now(), 0
		for p.Wait(t.Context()) == nil && time.Since(start) <= time.Second {
			starts++
		}
		if starts < 59_900 || starts > 60_001 {
			t.Errorf("%d starts in a second, want 60,000 and no more than one above", starts)
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
