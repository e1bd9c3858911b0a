package meanwhile_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/retry"
)

var scopes = map[string]func(context.Context, func(context.Context) error, ...TaskOption) error{
	"Run": Run, "Supervise": Supervise,
	"Shield": func(ctx context.Context, fn func(context.Context) error, opts ...TaskOption) error {
		return Shield(ctx, time.Hour, fn, opts...)
	},
	"Run with Retry": func(ctx context.Context, fn func(context.Context) error, opts ...TaskOption) error {
		return Run(ctx, fn, append(opts, Retry(retry.Policy{}))...)
	},
	"Supervise with Retry": func(ctx context.Context, fn func(context.Context) error, opts ...TaskOption) error {
		return Supervise(ctx, fn, append(opts, Retry(retry.Policy{}))...)
	},
}

// second runs for a second.
func (g *gauge) second(ctx context.Context) error { return g.hold(ctx, time.Second) }

func TestMaxTasksBoundsAScope(t *testing.T) {
	for name, open := range scopes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := new(gauge)
				begin := time.Now()
				err := open(t.Context(), func(ctx context.Context) error {
					derived, cancel := context.WithCancel(ctx)
					t.Cleanup(cancel)
					for range 10 {
						Go(ctx, g.second)
						Go(derived, g.second)
						Go(ctx, g.second, InBackground())
						Async(ctx, func(ctx context.Context) (int, error) { return 0, g.second(ctx) })
						Go(ctx, g.second)
						Go(ctx, func(ctx context.Context) error { // keeps its place until the task below it has ended
							Go(ctx, func(ctx context.Context) error { return g.second(ctx) })
							return nil
						})
					}
					return nil
				}, MaxTasks(3))
				if err != nil {
					t.Fatal(err)
				}
				if g.most != 3 {
					t.Errorf("%d ran concurrently, want 3", g.most)
				}
				if took := time.Since(begin); took != 20*time.Second {
					t.Errorf("60 tasks of a second, 3 of them concurrently, took %v", took)
				}
			})
		})
	}
}

func TestMaxTasksCountsBackgroundTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Run(ctx, func(ctx context.Context) error {
			Every(ctx, time.Second, func(context.Context) error { return nil })
			Go(ctx, func(context.Context) error { t.Error("a second task ran"); return nil })
			return nil
		}, MaxTasks(1))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// Tasks below the tasks of the scope do not count, nor do scopes and streams in it.
func TestMaxTasksCountsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(gauge)
		err := Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				for range 5 {
					Go(ctx, g.second)
				}
				return nil
			})
			if err := Run(ctx, func(ctx context.Context) error {
				for range 5 {
					Go(ctx, g.second)
				}
				return nil
			}); err != nil {
				return err
			}
			return Each(ctx, upTo(5), func(ctx context.Context, _ int) error { return g.second(ctx) })
		}, MaxTasks(1))
		if err != nil || g.most != 10 {
			t.Errorf("%d ran concurrently, error %v; want 10", g.most, err)
		}
	})
}

func TestMaxTasksServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []int
		err := Run(t.Context(), func(ctx context.Context) error {
			first := Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) })
			for i := range 10 {
				go Go(ctx, func(context.Context) error {
					order = append(order, i)
					return nil
				})
				synctest.Wait()
			}
			_, err := first.Wait(ctx)
			synctest.Wait()
			return err
		}, MaxTasks(1))
		if err != nil || !slices.IsSorted(order) || len(order) != 10 {
			t.Errorf("got %v, %v", order, err)
		}
	})
}

// A place is released however a task ends.
func TestMaxTasksGetsPlacesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		ends := []func(ctx context.Context){
			func(ctx context.Context) { Go(ctx, func(context.Context) error { return nil }) },
			func(ctx context.Context) { Go(ctx, func(context.Context) error { return errBoom }) },
			func(ctx context.Context) { Go(ctx, func(context.Context) error { panic("ouch") }) },
			func(ctx context.Context) { Go(ctx, func(context.Context) error { runtime.Goexit(); return nil }) },
			func(ctx context.Context) { Go(ctx, hang).Cancel(nil) },
			func(ctx context.Context) { Go(ctx, hang, Timeout(time.Second)) },
			func(ctx context.Context) {
				Go(ctx, func(context.Context) error { return errBoom }, Retry(retry.Policy{Attempts: 2}))
			},
			func(ctx context.Context) {
				Go(ctx, func(context.Context) error { return nil }, Observe(func(e Event) {
					if e.Kind == TaskEnded {
						panic("ouch")
					}
				}))
			},
			func(ctx context.Context) {
				impatient, cancel := context.WithCancel(ctx)
				Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Second) })
				Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Second) })
				cancel()
				Go(impatient, hang) // never gets a place
			},
		}
		begin := time.Now()
		_ = Supervise(t.Context(), func(ctx context.Context) error {
			for _, end := range ends {
				end(ctx)
				end(ctx)
			}
			g := new(gauge)
			for range 4 {
				Go(ctx, g.second)
			}
			if got := g.now(); got != 2 {
				t.Errorf("%d ran concurrently, want 2", got)
			}
			return nil
		}, MaxTasks(2))
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestMaxTasksCanceledWhileWaiting(t *testing.T) {
	why := errors.New("closing time")
	never := func(context.Context) error { t.Error("the function was called"); return nil }
	for name, open := range scopes {
		if strings.HasPrefix(name, "Shield") {
			continue // a cancellation reaches it only after an hour
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				var events []string
				err := open(ctx, func(ctx context.Context) error {
					Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Minute) })
					started := time.Now()
					late := Go(ctx, never, Name("late"), Observe(func(e Event) { events = append(events, e.Kind.String()) }))
					number := Async(ctx, func(context.Context) (int, error) { return 7, never(ctx) }, Retry(retry.Policy{Attempts: 3}))
					if waited := time.Since(started); waited != time.Second {
						t.Errorf("Go returned after %v", waited)
					}
					select {
					case <-late.Done():
					default:
						t.Error("the task has not ended")
					}
					if _, err := late.Wait(context.Background()); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
						t.Errorf("got %v", err)
					}
					if n, err := number.Wait(context.Background()); n != 0 || !errors.Is(err, why) {
						t.Errorf("got %d, %v", n, err)
					}
					return nil
				}, MaxTasks(1))
				if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
					t.Errorf("got %v", err)
				}
				if got := fmt.Sprint(events); got != "[started ended]" {
					t.Errorf("got the events %s", got)
				}
			})
		})
	}
}

// When a task fails, the calls of Go that wait return, and that failure is the only one.
func TestMaxTasksFailureWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			for range 3 {
				Go(ctx, func(ctx context.Context) error {
					return cmp.Or(Sleep(ctx, time.Second), errBoom)
				}, Name("fails"))
			}
			return nil
		}, MaxTasks(1))
		if err == nil || err.Error() != "task run/fails: boom" {
			t.Errorf("got %v", err)
		}
	})
}

// When a derived ctx times out while Go waits, the task fails as with any deadline of its own.
func TestMaxTasksOwnDeadlineWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Supervise(t.Context(), func(ctx context.Context) error {
			busy := Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Minute) })
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			late := Go(short, func(context.Context) error { t.Error("the function was called"); return nil })
			if _, err := late.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			_, err := busy.Wait(ctx)
			return err
		}, MaxTasks(1))
		if err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestMaxTasksInTheTree(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Minute) })
			Go(ctx, func(inner context.Context) error {
				Go(ctx, func(context.Context) error { return nil })
				return nil
			}, Name("starter"))
			synctest.Wait()
			if got := Tree(ctx).String(); !strings.Contains(got, "starter: limit 2, maxtasks_test.go:") || !strings.Contains(got, "(meanwhile.Go)") {
				t.Errorf("got %s", got)
			}
			return nil
		}, MaxTasks(2))
		if err != nil {
			t.Error(err)
		}
	})
}
