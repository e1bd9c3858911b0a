package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/retry"
)

// An attempts records how a function ran under a policy: when it was called, the events of the observer, and how it ended.
type attempts struct {
	at     []time.Duration
	events []Event
	err    error
	took   time.Duration
}

// try runs fn under the policy, in a bubble of its own; fn receives the number of the call.
func try(t *testing.T, p retry.Policy, fn func(ctx context.Context, n int) error, opts ...TaskOption) (a attempts) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var events journal[Event]
		opts = append([]TaskOption{Retry(p), Observe(func(e Event) {
			if e.Kind == TaskRetrying {
				events.add(e)
			}
		})}, opts...)
		a.err = Run(t.Context(), func(ctx context.Context) error {
			a.at = append(a.at, time.Since(start))
			return fn(ctx, len(a.at))
		}, opts...)
		a.took, a.events = time.Since(start), events.all()
	})
	return a
}

func alwaysFails(context.Context, int) error { return errTooMuch }

func TestRetryUntilSuccess(t *testing.T) {
	a := try(t, retry.Policy{Attempts: 10}, func(_ context.Context, n int) error {
		if n < 4 {
			return errTooMuch
		}
		return nil
	})
	if a.err != nil || len(a.at) != 4 {
		t.Errorf("%d attempts, error %v, want 4", len(a.at), a.err)
	}
}

func TestRetryDefaults(t *testing.T) {
	random := false
	for range 20 {
		a := try(t, retry.Policy{}, alwaysFails)
		if len(a.at) != 3 || !errors.Is(a.err, errTooMuch) {
			t.Fatalf("%d attempts, error %v, want 3 and the failure", len(a.at), a.err)
		}
		first, second := a.at[1]-a.at[0], a.at[2]-a.at[1]
		if first > 100*time.Millisecond || second > 200*time.Millisecond {
			t.Errorf("waits of %v and %v, want 100 ms and 200 ms at most", first, second)
		}
		random = random || first != 100*time.Millisecond
	}
	if !random {
		t.Error("the waits are not random")
	}
	// Every wait is at most 30 s. Jitter is off.
	a := try(t, retry.Policy{Attempts: 12, Jitter: -1}, alwaysFails)
	if got := a.at[11] - a.at[10]; got != 30*time.Second {
		t.Errorf("the eleventh wait is %v, want 30 s", got)
	}
}

func TestRetryWaitsGrowByTheFactorUpToMax(t *testing.T) {
	a := try(t, retry.Policy{Attempts: 6, Base: time.Second, Factor: 3, Max: 20 * time.Second, Jitter: -1}, alwaysFails)
	s := time.Second
	if want := []time.Duration{0, s, 4 * s, 13 * s, 33 * s, 53 * s}; !slices.Equal(a.at, want) {
		t.Errorf("attempts at %v, want %v", a.at, want)
	}
	// A base above the upper limit is reduced to it.
	a = try(t, retry.Policy{Attempts: 2, Base: time.Hour, Max: s, Jitter: -1}, alwaysFails)
	if want := []time.Duration{0, s}; !slices.Equal(a.at, want) {
		t.Errorf("attempts at %v, want %v", a.at, want)
	}
}

// Each wait is between what the policy leaves without its random share, and the upper limit.
func TestRetryLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := retry.Policy{
			Attempts: rapid.IntRange(1, 12).Draw(r, "attempts"),
			Base:     time.Duration(rapid.IntRange(1, 5000).Draw(r, "base")) * time.Millisecond,
			Max:      time.Duration(rapid.IntRange(1, 60_000).Draw(r, "max")) * time.Millisecond,
			Factor:   rapid.Float64Range(1, 10).Draw(r, "factor"),
			Jitter:   rapid.OneOf(rapid.Just(-1.0), rapid.Float64Range(0.01, 1)).Draw(r, "jitter"),
		}
		a := try(t, p, alwaysFails)
		if len(a.at) != p.Attempts || !errors.Is(a.err, errTooMuch) {
			r.Fatalf("%d attempts, error %v", len(a.at), a.err)
		}
		for i := range len(a.at) - 1 {
			most := math.Min(float64(p.Base)*math.Pow(p.Factor, float64(i)), float64(p.Max))
			least := most * (1 - max(0, p.Jitter))
			if got := float64(a.at[i+1] - a.at[i]); got < least*0.999-1 || got > most*1.001+1 {
				r.Fatalf("wait %d is %v, want from %v to %v", i, time.Duration(got), time.Duration(least), time.Duration(most))
			}
		}
	})
}

func TestRetryTellsTheObserver(t *testing.T) {
	a := try(t, retry.Policy{Base: time.Second, Jitter: -1}, alwaysFails, Name("fetch"))
	if len(a.events) != 2 {
		t.Fatalf("%d events, want 2", len(a.events))
	}
	for i, e := range a.events {
		wait := []time.Duration{time.Second, 2 * time.Second}[i]
		if e.Path != "fetch" || e.Attempt != i+2 || e.Delay != wait || !errors.Is(e.Err, errTooMuch) || e.Kind != TaskRetrying {
			t.Errorf("event %d: %+v", i, e)
		}
	}
}

// Each attempt is a scope: the tasks it started have ended before the next attempt starts.
func TestRetryAttemptsAreScopes(t *testing.T) {
	g := new(gauge)
	a := try(t, retry.Policy{Base: time.Second, Jitter: -1}, func(ctx context.Context, n int) error {
		if got := g.now(); got != 0 {
			t.Errorf("attempt %d starts while %d tasks of the previous one run", n, got)
		}
		if got, want := Tree(ctx).Path, fmt.Sprintf("run/attempt %d", n); got != want {
			t.Errorf("path %q, want %q", got, want)
		}
		Go(ctx, func(context.Context) error {
			return g.hold(context.Background(), time.Minute) // ignores its cancellation
		})
		return Sleep(ctx, time.Second)
	})
	if a.err != nil || len(a.at) != 1 {
		t.Errorf("%d attempts, error %v", len(a.at), a.err)
	}
	a = try(t, retry.Policy{Base: time.Second, Jitter: -1}, func(ctx context.Context, n int) error {
		if got := g.now(); got != 0 {
			t.Errorf("attempt %d starts while %d tasks of the previous one run", n, got)
		}
		Go(ctx, func(context.Context) error { return g.hold(context.Background(), time.Minute) })
		Go(ctx, func(context.Context) error { return errTooMuch }) // a task's failure is a failure of the attempt
		return nil
	})
	if want := []time.Duration{0, 61 * time.Second, 123 * time.Second}; !errors.Is(a.err, errTooMuch) || !slices.Equal(a.at, want) {
		t.Errorf("attempts at %v, error %v, want %v", a.at, a.err, want)
	}
}

func TestRetryAfterAPanic(t *testing.T) {
	a := try(t, retry.Policy{}, func(_ context.Context, n int) error {
		if n == 1 {
			panic("once")
		}
		return nil
	})
	if a.err != nil || len(a.at) != 2 {
		t.Errorf("%d attempts, error %v, want 2", len(a.at), a.err)
	}
	a = try(t, retry.Policy{}, func(context.Context, int) error { panic("always") })
	var p *PanicError
	if !errors.As(a.err, &p) || p.Value != "always" || len(a.at) != 3 {
		t.Errorf("%d attempts, error %v, want 3 and the panic", len(a.at), a.err)
	}
}

func TestRetryIf(t *testing.T) {
	a := try(t, retry.Policy{Attempts: 9, If: func(err error) bool { return errors.Is(err, io.EOF) }}, func(_ context.Context, n int) error {
		if n < 3 {
			return fmt.Errorf("read: %w", io.EOF)
		}
		return errTooMuch
	})
	if !errors.Is(a.err, errTooMuch) || len(a.at) != 3 {
		t.Errorf("%d attempts, error %v, want 3", len(a.at), a.err)
	}
}

func TestPermanent(t *testing.T) {
	err := retry.Permanent(io.EOF)
	for name, err := range map[string]error{"bare": err, "wrapped": fmt.Errorf("read: %w", err)} {
		// The mark takes precedence over If.
		a := try(t, retry.Policy{If: func(error) bool { return true }}, func(context.Context, int) error { return err })
		if len(a.at) != 1 || !errors.Is(a.err, io.EOF) || a.took != 0 {
			t.Errorf("%s: %d attempts in %v, error %v, want 1 without a wait", name, len(a.at), a.took, a.err)
		}
	}
}

// An httpError is an error of another package that carries a delay.
type httpError struct{}

func (httpError) Error() string             { return "503" }
func (httpError) RetryAfter() time.Duration { return 7 * time.Hour }

func TestRetryAfter(t *testing.T) {
	err := retry.After(io.EOF, 7*time.Hour)
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"bare":            {err, time.Minute}, // the policy's upper limit applies
		"wrapped":         {fmt.Errorf("read: %w", err), time.Minute},
		"another's":       {fmt.Errorf("call: %w", httpError{}), time.Minute},
		"within":          {retry.After(io.EOF, 59*time.Second), 59 * time.Second},
		"nothing":         {retry.After(io.EOF, 0), 0},
		"less than zero":  {retry.After(io.EOF, -time.Hour), 0},
		"and not a delay": {io.EOF, time.Second},
	} {
		a := try(t, retry.Policy{Attempts: 2, Base: time.Second, Jitter: -1, Max: time.Minute}, func(context.Context, int) error { return c.err })
		if want := []time.Duration{0, c.want}; !slices.Equal(a.at, want) || a.err == nil {
			t.Errorf("%s: attempts at %v, error %v, want %v", name, a.at, a.err, want)
		}
	}
	// MaxAfter may be lower or higher than the upper limit of the other waits.
	for _, most := range []time.Duration{time.Second, 3 * time.Hour, 24 * time.Hour} {
		a := try(t, retry.Policy{Attempts: 2, Max: time.Minute, MaxAfter: most}, func(context.Context, int) error { return err })
		if want := []time.Duration{0, min(most, 7*time.Hour)}; !slices.Equal(a.at, want) {
			t.Errorf("MaxAfter %v: attempts at %v, want %v", most, a.at, want)
		}
	}
	// MaxAfter is Max unless it is set, and Max 30 s.
	for limit, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 2 * time.Second: 2 * time.Second} {
		a := try(t, retry.Policy{Attempts: 2, Max: limit}, func(context.Context, int) error { return err })
		if want := []time.Duration{0, want}; !slices.Equal(a.at, want) {
			t.Errorf("Max %v: attempts at %v, want %v", limit, a.at, want)
		}
	}
	// The policy's own waits continue to grow during a delay of the error.
	a := try(t, retry.Policy{Attempts: 4, Base: time.Second, Jitter: -1}, func(_ context.Context, n int) error {
		if n == 1 {
			return retry.After(io.EOF, 10*time.Second)
		}
		return io.EOF
	})
	if s := time.Second; !slices.Equal(a.at, []time.Duration{0, 10 * s, 12 * s, 16 * s}) {
		t.Errorf("attempts at %v", a.at)
	}
}

// The error after several attempts contains their number; errors.Is and errors.As find the last failure in it.
func TestRetryErrorSaysHowManyAttempts(t *testing.T) {
	p := retry.Policy{Attempts: 4, Base: time.Second, Jitter: -1}
	attempt := func(_ context.Context, n int) error { return fmt.Errorf("call %d: %w", n, httpError{}) }
	a := try(t, p, attempt)
	var cause httpError
	wantText(t, a.err, "after 4 attempts: call 4: 503")
	if !errors.As(a.err, &cause) {
		t.Errorf("%v: errors.Is or errors.As does not find the cause", a.err)
	}
	wantText(t, try(t, retry.Policy{Attempts: 1}, attempt).err, "call 1: 503")
	// The number is reported once, also when the policy gives up early.
	wantText(t, try(t, p, func(_ context.Context, n int) error {
		if n == 2 {
			return retry.Permanent(io.EOF)
		}
		return errTooMuch
	}).err, "after 2 attempts: EOF")
	wantText(t, try(t, p, alwaysFails, Timeout(4*time.Second)).err, "after 3 attempts: too much")
	wantText(t, try(t, retry.Policy{Attempts: 2, Base: time.Second}, func(ctx context.Context, n int) error {
		return Run(ctx, func(ctx context.Context) error { return attempt(ctx, n) }, Retry(retry.Policy{Attempts: 1}))
	}).err, "after 2 attempts: call 2: 503")
	// The same holds for tasks and items.
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, fails(errBoom), Name("a"), Retry(p))
			return nil
		})
		wantText(t, err, "task run/a: after 4 attempts: boom")
		err = Each(ctx, upTo(1), func(context.Context, int) error { return errBoom }, Retry(p))
		wantText(t, err, "item 0: after 4 attempts: boom")
	})
}

func TestRetryUnderSupervise(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		done := 0
		err := Supervise(ctx, func(ctx context.Context) error {
			Go(ctx, fails(errBoom), Name("a"))
			Go(ctx, func(ctx context.Context) error {
				if err := Sleep(ctx, time.Second); err != nil {
					return err
				}
				done++
				return nil
			})
			return nil
		}, Retry(retry.Policy{Attempts: 2}))
		wantText(t, err, "after 2 attempts: task supervise/attempt 2/a: boom")
		if done != 2 {
			t.Errorf("the other task ran %d times, want 2", done)
		}
	})
}

func TestRetryWithABaseAboveTheMaximum(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		for range 50 {
			start := time.Now()
			_ = Run(ctx, fails(errBoom), Retry(retry.Policy{Attempts: 2, Base: time.Minute, Max: 10 * time.Second}))
			if took := time.Since(start); took >= 10*time.Second {
				t.Fatalf("waited for %v, which is not random", took)
			}
		}
	})
}

func TestRetryTimeoutIsThatOfEachAttempt(t *testing.T) {
	a := try(t, retry.Policy{Timeout: time.Minute, Base: time.Second, Jitter: -1}, func(ctx context.Context, _ int) error {
		return Sleep(ctx, time.Hour)
	})
	m, s := time.Minute, time.Second
	if want := []time.Duration{0, m + s, 2*m + 3*s}; !slices.Equal(a.at, want) || !errors.Is(a.err, context.DeadlineExceeded) {
		t.Errorf("attempts at %v, error %v, want %v and the deadline", a.at, a.err, want)
	}
}

func TestRetryUnderTheOptionTimeout(t *testing.T) {
	// The timeout applies to attempts and waits together: a wait that would end after it is not started.
	p := retry.Policy{Attempts: 9, Base: 4 * time.Second, Jitter: -1}
	a := try(t, p, alwaysFails, Timeout(10*time.Second))
	if want := []time.Duration{0, 4 * time.Second}; !slices.Equal(a.at, want) || a.took != 4*time.Second || !errors.Is(a.err, errTooMuch) {
		t.Errorf("attempts at %v, ended at %v with %v, want %v and the last failure without a wait", a.at, a.took, a.err, want)
	}
	// The timeout also ends a running attempt, which is then the last one.
	a = try(t, p, func(ctx context.Context, _ int) error { return Sleep(ctx, time.Hour) }, Timeout(10*time.Second))
	if len(a.at) != 1 || a.took != 10*time.Second || !errors.Is(a.err, context.DeadlineExceeded) {
		t.Errorf("%d attempts, ended at %v with %v", len(a.at), a.took, a.err)
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	for name, c := range map[string]struct {
		cancelAt time.Duration
		want     int
	}{"in an attempt": {30 * time.Second, 1}, "in a wait": {75 * time.Second, 1}, "in the second attempt": {120 * time.Second, 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(c.cancelAt, cancel)
				n, start := 0, time.Now()
				err := Run(ctx, func(ctx context.Context) error {
					n++
					_ = Sleep(ctx, time.Minute)
					return errTooMuch
				}, Retry(retry.Policy{Base: time.Minute, Jitter: -1, Attempts: 9}))
				if n != c.want || time.Since(start) != c.cancelAt || !errors.Is(err, errTooMuch) {
					t.Errorf("%d attempts, ended at %v with %v, want %d and the last failure without a wait", n, time.Since(start), err, c.want)
				}
			})
		})
	}
}

// Tasks and items accept the option as well, and their value is that of the attempt that succeeded.
func TestRetryOfTasksAndItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		flaky := func(context.Context) (int, error) {
			if calls++; calls%3 != 0 {
				return -1, errTooMuch
			}
			return calls, nil
		}
		err := Run(t.Context(), func(ctx context.Context) error {
			if got, err := Async(ctx, flaky, Retry(retry.Policy{})).Wait(ctx); got != 3 || err != nil {
				t.Errorf("Async: got %d, %v", got, err)
			}
			_, err := Go(ctx, func(ctx context.Context) error { _, err := flaky(ctx); return err }, Retry(retry.Policy{})).Wait(ctx)
			if err != nil || calls != 6 {
				t.Errorf("Go: %d calls, %v", calls, err)
			}
			in := upTo(1)
			for got, err := range Map(ctx, in, func(ctx context.Context, _ int) (int, error) { return flaky(ctx) }, Retry(retry.Policy{})) {
				if got != 9 || err != nil {
					t.Errorf("Map: got %d, %v", got, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
