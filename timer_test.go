package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

type contextKey struct{}

// eachContext runs f with each kind of context that Sleep supports: one of the standard library, a task's, and one derived
// from a task's; cancel cancels it.
func eachContext(t *testing.T, f func(t *testing.T, ctx context.Context, cancel func(error))) {
	t.Helper()
	for name, derive := range map[string]func(context.Context) context.Context{
		"task":    func(ctx context.Context) context.Context { return ctx },
		"derived": func(ctx context.Context) context.Context { return context.WithValue(ctx, contextKey{}, 1) },
		"standard": func(ctx context.Context) context.Context {
			standard, cancel := context.WithCancelCause(context.Background())
			context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
			return standard
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_ = Run(t.Context(), func(ctx context.Context) error {
					var task *Task[struct{}]
					ready := make(chan struct{})
					task = Go(ctx, func(ctx context.Context) error {
						<-ready
						f(t, derive(ctx), task.Cancel)
						return nil
					})
					close(ready)
					return nil
				})
			})
		})
	}
}

func TestSleep(t *testing.T) {
	eachContext(t, func(t *testing.T, ctx context.Context, _ func(error)) {
		for _, d := range []time.Duration{time.Nanosecond, time.Hour, 0, -time.Hour} {
			start := time.Now()
			if err := Sleep(ctx, d); err != nil || time.Since(start) != max(0, d) {
				t.Errorf("Sleep(%v) took %v, error %v", d, time.Since(start), err)
			}
		}
	})
}

func TestSleepForEver(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			_ = Sleep(ctx, time.Millisecond) // so that the clock of the tree has started
			endless := Go(ctx, func(ctx context.Context) error { return Sleep(ctx, math.MaxInt64) }, InBackground())
			synctest.Wait()
			start := time.Now()
			if err := Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
				t.Errorf("another Sleep took %v, and returned %v", time.Since(start), err)
			}
			select {
			case <-endless.Done():
				t.Error("the longest sleep is over")
			default:
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	eachContext(t, func(t *testing.T, ctx context.Context, cancel func(error)) {
		reason, start := errors.New("reason"), time.Now()
		time.AfterFunc(time.Second, func() { cancel(reason) })
		err := Sleep(ctx, time.Hour)
		if !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error and its cause", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("it took %v, want 1 s", got)
		}
		for _, d := range []time.Duration{time.Hour, 0, -1} {
			if err := Sleep(ctx, d); !errors.Is(err, reason) {
				t.Errorf("Sleep(%v) with a canceled context: %v", d, err)
			}
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("sleeps with a canceled context took %v", got-time.Second)
		}
	})
}

// Many timers expire at the moment of a cancellation: each Sleep returns once, for one reason or the other.
func TestSleepEndsByTimeOrCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("reason")
		for range 20 {
			var outcomes journal[error]
			_ = Run(t.Context(), func(ctx context.Context) error {
				group := Go(ctx, func(ctx context.Context) error {
					for range 10 {
						Go(ctx, func(ctx context.Context) error {
							outcomes.add(Sleep(ctx, time.Second))
							return nil
						})
					}
					return nil
				})
				time.Sleep(time.Second)
				group.Cancel(reason)
				return nil
			})
			for _, err := range outcomes.all() {
				if err != nil && !errors.Is(err, reason) {
					t.Error(err)
				}
			}
			if n := len(outcomes.all()); n != 10 {
				t.Errorf("%d woke, want 10", n)
			}
		}
	})
}

func TestEveryCallsAtMultiplesOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at journal[time.Duration]
		g, calls := new(gauge), 0
		err := Run(t.Context(), func(ctx context.Context) error {
			Every(ctx, time.Minute, func(ctx context.Context) error {
				at.add(time.Since(start))
				calls++
				// The third call covers the times at 4 and 5 minutes, and the fourth ends exactly when the next call is due.
				return g.hold(ctx, []time.Duration{0, time.Second, 150 * time.Second, time.Minute, 0, 0}[calls-1])
			})
			return Sleep(ctx, 8*time.Minute+30*time.Second) // the scope does not wait for the task of Every
		})
		m := time.Minute
		if want := []time.Duration{m, 2 * m, 3 * m, 6 * m, 8 * m}; err != nil || !slices.Equal(at.all(), want) {
			t.Errorf("called at %v, error %v, want %v", at.all(), err, want)
		}
		if g.most != 1 {
			t.Errorf("%d calls ran concurrently", g.most)
		}
		if got := time.Since(start); got != 8*m+m/2 {
			t.Errorf("the scope ended after %v", got)
		}
	})
}

// The scope cancels a running call, and waits until it has returned.
func TestEveryEndsWithItsScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := false
		err := Run(t.Context(), func(ctx context.Context) error {
			Every(ctx, time.Second, func(ctx context.Context) error {
				err := Sleep(ctx, time.Hour)
				returned = true
				return err
			})
			return Sleep(ctx, 90*time.Second)
		})
		if err != nil || !returned {
			t.Errorf("error %v, call returned: %v", err, returned)
		}
	})
}

func TestEveryEndsWhenItIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls journal[int]
		err := Run(t.Context(), func(ctx context.Context) error {
			every := Every(ctx, time.Second, func(context.Context) error { calls.add(1); return nil }, Name("tick"))
			_ = Sleep(ctx, 3500*time.Millisecond)
			every.Cancel(nil)
			<-every.Done()
			return Sleep(ctx, time.Minute)
		})
		if err != nil || len(calls.all()) != 3 {
			t.Errorf("%d calls, error %v, want 3", len(calls.all()), err)
		}
	})
}

func TestEveryFailsItsScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := Run(t.Context(), func(ctx context.Context) error {
			Every(ctx, time.Second, func(context.Context) error { return errTooMuch })
			return Sleep(ctx, time.Hour)
		})
		if !errors.Is(err, errTooMuch) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want the failure after 1 s", err, time.Since(start))
		}
	})
}

func TestEveryEndsWithStop(t *testing.T) {
	for name, stop := range map[string]error{"itself": Stop, "wrapped": fmt.Errorf("enough: %w", Stop)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, calls := time.Now(), 0
				err := Run(t.Context(), func(ctx context.Context) error {
					every := Every(ctx, time.Second, func(context.Context) error {
						if calls++; calls == 3 {
							return stop
						}
						return nil
					})
					_, err := every.Wait(ctx)
					return err
				})
				if err != nil || calls != 3 || time.Since(start) != 3*time.Second {
					t.Errorf("%v after %d calls and %v, want success after 3 calls and 3 s", err, calls, time.Since(start))
				}
			})
		})
	}
}

// An error that is joined with Stop is a failure: it is not lost.
func TestEveryFailsBesideStop(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context) error{
		"joined": func(context.Context) error { return errors.Join(Stop, errTooMuch) },
		"of another task": func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error {
				Go(ctx, func(context.Context) error { return Stop })
				Go(ctx, func(context.Context) error { return errTooMuch })
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := Run(t.Context(), func(ctx context.Context) error {
					Every(ctx, time.Second, fail)
					return Sleep(ctx, time.Minute)
				})
				if !errors.Is(err, errTooMuch) {
					t.Errorf("got %v, want the error beside Stop", err)
				}
			})
		})
	}
}

// The error of the task's own cancellation, joined with Stop, is not a failure.
func TestEveryStopsWhileCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			every := Every(ctx, time.Second, func(ctx context.Context) error { return errors.Join(Stop, Sleep(ctx, time.Hour)) })
			if err := Sleep(ctx, time.Minute); err != nil {
				return err
			}
			every.Cancel(errTooMuch)
			_, err := every.Wait(ctx)
			return err
		})
		if err != nil {
			t.Errorf("got %v, want success", err)
		}
	})
}

// For other tasks Stop is an ordinary error.
func TestStopOfAnotherTask(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		Go(ctx, func(context.Context) error { return Stop })
		return nil
	})
	if !errors.Is(err, Stop) {
		t.Errorf("got %v, want the failure of the task", err)
	}
}
