package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/retry"
)

func TestWait(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		_ = Supervise(ctx, func(ctx context.Context) error {
			start := time.Now()
			good := Async(ctx, func(ctx context.Context) (string, error) { return "value", Sleep(ctx, time.Hour) })
			bad := Async(ctx, func(ctx context.Context) (string, error) { return "partial", errBoom }, Name("bad"))

			patient, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no patience"))
			defer cancel()
			_, err := good.Wait(patient)
			wantText(t, err, "context deadline exceeded: no patience")
			if took := time.Since(start); took != time.Minute {
				t.Errorf("gave up after %v", took)
			}

			for range 2 { // the second time, the task has already ended
				v, err := good.Wait(ctx)
				if v != "value" || err != nil || time.Since(start) != time.Hour {
					t.Errorf("got %v, %v after %v", v, err, time.Since(start))
				}
			}
			select {
			case <-good.Done():
			default:
				t.Error("Done is open after the end")
			}

			v, err := bad.Wait(ctx)
			wantText(t, err, "task supervise/bad: boom")
			if v != "partial" {
				t.Errorf("got %q, want what the function returned besides its error", v)
			}

			// Wait on an ended task also succeeds with a canceled ctx.
			gone, cancel2 := context.WithCancel(ctx)
			cancel2()
			if v, err := good.Wait(gone); v != "value" || err != nil {
				t.Errorf("got %v, %v", v, err)
			}
			return nil
		})
	})
}

func TestWaitIncludesTheTasksBelow(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		err := Run(ctx, func(ctx context.Context) error {
			task := Go(ctx, func(ctx context.Context) error {
				Go(ctx, sleepThen(time.Hour, nil))
				return nil
			})
			_, err := task.Wait(ctx)
			return err
		})
		if err != nil || time.Since(start) != time.Hour {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

// A task that waits for a task in a scope that the failure of the latter cancels receives the failure, and not the
// cancellation.
func TestWaitPrefersTheFailureToTheCancellationItCauses(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		for range 100 {
			err := Run(ctx, func(ctx context.Context) error {
				task := Go(ctx, fails(errBoom), Name("t"))
				_, err := task.Wait(ctx)
				return fmt.Errorf("wait: %w", err)
			})
			wantText(t, err, "wait: task run/t: boom")
		}
	})
}

// A wait may start at the moment when the task ends.
func TestWaitMeetsTheEnd(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		for i := range 50_000 {
			task := Async(ctx, func(context.Context) (int, error) { return i, nil })
			if i%3 == 0 {
				runtime.Gosched()
			}
			if v, err := task.Wait(ctx); v != i || err != nil {
				return fmt.Errorf("got %d, %w", v, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWaitByMany(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var got atomic.Int32
		err := Run(ctx, func(ctx context.Context) error {
			task := Async(ctx, func(ctx context.Context) (int, error) { return 7, Sleep(ctx, time.Second) })
			for range 50 {
				Go(ctx, func(ctx context.Context) error {
					v, err := task.Wait(ctx)
					got.Add(int32(v))
					return err
				})
			}
			return nil
		})
		if err != nil || got.Load() != 350 {
			t.Errorf("got %v, %d", err, got.Load())
		}
	})
}

func TestCancelOfATask(t *testing.T) {
	why := errors.New("not needed")
	bubble(t, func(t *testing.T, ctx context.Context) {
		var below error
		err := Run(ctx, func(ctx context.Context) error {
			task := Go(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					below = context.Cause(ctx)
					return ctx.Err()
				})
				return Sleep(ctx, time.Hour)
			}, Name("extra"))
			synctest.Wait()
			task.Cancel(why)
			_, err := task.Wait(ctx)
			wantText(t, err, "task run/extra: context canceled: not needed")
			wantIs(t, err, why, context.Canceled)
			task.Cancel(errBoom) // ended: does nothing
			return nil
		})
		if err != nil {
			t.Errorf("a task that stopped because of its own cancellation failed its scope: %v", err)
		}
		if below != why {
			t.Errorf("the task below got the cause %v", below)
		}
	})
}

func TestCancelWithoutACause(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		_ = Run(ctx, func(ctx context.Context) error {
			task := Go(ctx, sleepThen(time.Hour, nil), Name("x"))
			task.Cancel(nil)
			_, err := task.Wait(ctx)
			wantText(t, err, "task run/x: context canceled: canceled by Task.Cancel")
			return nil
		})
	})
}

func TestCancelDoesNotHideAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			task := Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return errBoom })
			task.Cancel(nil)
			return nil
		})
		wantText(t, err, "task run/#1: boom")
	})
}

func TestTimeoutOfATask(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var deadline time.Duration
		start := time.Now()
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				d, _ := ctx.Deadline()
				deadline = d.Sub(start)
				child, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				<-child.Done()
				if child.Err() != context.DeadlineExceeded {
					t.Errorf("the child context has %v", child.Err())
				}
				return child.Err()
			}, Timeout(time.Second), Name("slow"))
			return nil
		})
		wantText(t, err, "task run/slow: context deadline exceeded: the timeout of 1s is over")
		wantIs(t, err, context.DeadlineExceeded)
		if deadline != time.Second || time.Since(start) != time.Second {
			t.Errorf("deadline %v, took %v", deadline, time.Since(start))
		}
	})
}

func TestTimeoutThatIsNotNeededLeavesNoTimer(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, fails(nil), Timeout(time.Hour))
			return nil
		})
		if err != nil || time.Since(start) != 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

// A deadline that a caller derived for one task is that task's failure; a derived cancellation was requested by the caller
// and is not.
func TestTaskBelowADerivedContext(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			derived, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := Go(derived, sleepThen(time.Hour, nil), Name("x")).Wait(ctx)
			return err
		})
		wantText(t, err, "task run/x: context deadline exceeded")

		err = Run(ctx, func(ctx context.Context) error {
			derived, cancel := context.WithCancel(ctx)
			task := Go(derived, sleepThen(time.Hour, nil))
			cancel()
			_, err := task.Wait(ctx)
			wantIs(t, err, context.Canceled)
			return nil
		})
		if err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestBackground(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		var cause error
		ended := false
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				_ = Sleep(context.Background(), time.Minute)
				ended = true
				return ctx.Err()
			}, InBackground())
			Go(ctx, sleepThen(time.Hour, nil))
			return nil
		})
		if err != nil || time.Since(start) != time.Hour+time.Minute || !ended {
			t.Errorf("got %v after %v, ended %v", err, time.Since(start), ended)
		}
		if cause == nil || !strings.Contains(cause.Error(), "the scope has ended") {
			t.Errorf("cause %v", cause)
		}
	})
}

func TestBackgroundFailureFailsTheScope(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Second, errBoom), InBackground(), Name("beat"))
			return Sleep(ctx, time.Hour)
		})
		wantText(t, err, "task run/beat: boom")

		err = Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return errBoom }, InBackground(), Name("beat"))
			return nil
		})
		wantText(t, err, "task run/beat: boom")
	})
}

// A background task that starts other tasks while its scope ends does not keep the scope from ending.
func TestBackgroundStartedByABackgroundTask(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		second := false
		err := Run(ctx, func(scope context.Context) error {
			Go(scope, func(ctx context.Context) error {
				<-ctx.Done()
				Go(scope, func(ctx context.Context) error {
					<-ctx.Done()
					second = true
					return nil
				}, InBackground())
				return nil
			}, InBackground())
			return nil
		})
		if err != nil || !second {
			t.Errorf("got %v, %v", err, second)
		}
	})
}

// Each task between a failure and its scope ends with the first failure below it, and not with the cancellation that follows.
func TestFailureOfTheTasksBetween(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var outer, inner error
		err := Run(ctx, func(ctx context.Context) error {
			a := Go(ctx, func(ctx context.Context) error {
				b := Go(ctx, func(ctx context.Context) error {
					Go(ctx, fails(errBoom), Name("c"))
					Go(ctx, func(ctx context.Context) error {
						<-ctx.Done()
						return errors.New("second")
					}, Name("d"))
					return nil
				}, Name("b"))
				_, inner = b.Wait(context.WithoutCancel(ctx))
				return nil
			}, Name("a"))
			_, outer = a.Wait(context.WithoutCancel(ctx))
			return nil
		}, Name("main"))
		for what, err := range map[string]error{"a": outer, "b": inner} {
			if wantText(t, err, "task main/a/b/c: boom"); errors.Is(err, context.Canceled) {
				t.Errorf("%s ended with a cancellation: %v", what, err)
			}
		}
		wantText(t, err, "task main/a/b/c: boom (and 1 more: task main/a/b/d: second)")
	})
}

// A panic of an abandoned call of Blocking is also a failure of the tasks between its own task and the scope.
func TestFailureOfTheTasksBetweenByAnAbandonedCall(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var outer error
		_ = Run(ctx, func(ctx context.Context) error {
			a := Go(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error {
					call, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					_, _ = Blocking(call, func() (int, error) {
						time.Sleep(2 * time.Second)
						panic("late")
					})
					time.Sleep(2 * time.Second) // still running when the call panics
					return nil
				}, Name("b"))
				return nil
			}, Name("a"))
			_, outer = a.Wait(context.WithoutCancel(ctx))
			return nil
		}, Name("main"))
		if p, ok := errors.AsType[*PanicError](outer); !ok || p.Value != "late" || errors.Is(outer, context.Canceled) {
			t.Errorf("the task above ended with %v", outer)
		}
	})
}

func TestPathsAndNames(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, fails(nil))
			Go(ctx, func(ctx context.Context) error {
				derived := context.WithValue(ctx, testKey("k"), 1)
				return Supervise(derived, func(ctx context.Context) error {
					_, err := Go(ctx, fails(errBoom)).Wait(ctx)
					return err
				})
			}, Name("crawl"))
			return nil
		}, Name("main"))
		wantText(t, err, "task main/crawl/supervise/#1: boom")
	})
}

func TestMisusePanics(t *testing.T) {
	cases := []struct {
		name string
		do   func(ctx context.Context)
		want string
	}{
		{"Go outside a scope", func(context.Context) { Go(context.Background(), fails(nil)) }, "Go outside a scope: pass the ctx that Run"},
		{"Async outside a scope", func(context.Context) {
			Async(context.Background(), func(context.Context) (int, error) { return 0, nil })
		}, "Async outside a scope"},
		{"Go after the scope ended", func(ctx context.Context) {
			var old context.Context
			_ = Run(ctx, func(ctx context.Context) error { old = ctx; return nil }, Name("old"))
			Go(old, fails(nil))
		}, "a task was started after run old ended"},
		{"Go after the task ended", func(ctx context.Context) {
			_ = Run(ctx, func(ctx context.Context) error {
				var old context.Context
				_, _ = Go(ctx, func(ctx context.Context) error { old = ctx; return nil }, Name("old")).Wait(ctx)
				Go(old, fails(nil))
				return nil
			})
		}, ""},
		{"wait for oneself", func(ctx context.Context) {
			_ = Run(ctx, func(ctx context.Context) error {
				self := make(chan *Task[struct{}], 1)
				self <- Go(ctx, func(ctx context.Context) error {
					_, err := (<-self).Wait(ctx)
					return err
				})
				return nil
			})
		}, ""},
	}
	for _, c := range cases {
		if c.want == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				defer func() {
					if r := fmt.Sprint(recover()); !strings.Contains(r, c.want) {
						t.Errorf("got %s\nwant %s", r, c.want)
					}
				}()
				c.do(ctx)
			})
		})
	}
}

// A nil ctx panics with a clear message, wherever it is passed.
func TestNilCtxPanics(t *testing.T) {
	var none context.Context
	for name, f := range map[string]func(){
		"Run":        func() { _ = Run(none, fails(nil)) },
		"Run, named": func() { _ = Run(none, fails(nil), Name("load")) },
		"Supervise":  func() { _ = Supervise(none, fails(nil)) },
		"Shield":     func() { _ = Shield(none, time.Second, fails(nil)) },
		"Go":         func() { Go(none, fails(nil)) },
		"Async":      func() { Async(none, func(context.Context) (int, error) { return 0, nil }) },
		"All":        func() { _, _ = All[int](none) },
		"Wait":       func() { _, _ = new(Task[int]).Wait(none) },
		"Sleep":      func() { _ = Sleep(none, time.Second) },
		"no sleep":   func() { _ = Sleep(none, 0) },
		"Semaphore":  func() { _ = NewSemaphore(1).Acquire(none, 1) },
		"Pacer":      func() { _ = Rate(1, time.Second).Wait(none) },
		"Blocking":   func() { _, _ = Blocking(none, func() (int, error) { return 0, nil }) },
		"Map":        func() { _, _ = Collect(Map(none, count(1), func(context.Context, int) (int, error) { return 0, nil })) },
		"Each":       func() { _ = Each(none, count(1), func(context.Context, int) error { return nil }) },
		"Batch":      func() { _, _ = Collect(Batch(none, count(1), 1, 0)) },
		"Receive":    func() { _, _ = Collect(Receive(none, make(chan int))) },
		"Lines":      func() { _, _ = Collect(Lines(none, strings.NewReader("a"))) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.HasPrefix(r, "meanwhile: a nil ctx: pass the ctx that your function was given") {
					t.Errorf("got %s", r)
				}
			}()
			f()
		})
	}
}

// In a task, misuse is the task's failure, with the same message.
func TestMisuseInATask(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			var old context.Context
			_, _ = Go(ctx, func(ctx context.Context) error { old = ctx; return nil }, Name("old")).Wait(ctx)
			Go(old, fails(nil))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "a task was started after task run/old ended: a ctx must not outlive its function") {
			t.Errorf("got %v", err)
		}
		for name, levels := range map[string]int{"itself": 0, "its parent": 1, "its grandparent": 2} {
			err := Run(ctx, func(ctx context.Context) error {
				handle := make(chan *Task[struct{}], 1)
				var nest func(levels int) func(context.Context) error
				nest = func(levels int) func(context.Context) error {
					return func(ctx context.Context) error {
						if levels > 0 {
							Go(ctx, nest(levels-1))
							return nil
						}
						_, err := (<-handle).Wait(ctx)
						return err
					}
				}
				handle <- Go(ctx, nest(levels), Name("top"))
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "waits for run/top, which cannot end before it") {
				t.Errorf("waiting for %s: got %v", name, err)
			}
		}
	})
}

// Ended tasks are not kept in a list: a scope that lives on does not grow with the tasks that it has had.
func TestEndedTasksAreLetGo(t *testing.T) {
	const tasks, size = 2000, 1 << 16
	err := Run(t.Context(), func(ctx context.Context) error {
		for range 3 {
			Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }, InBackground())
		}
		for range tasks {
			big := Async(ctx, func(context.Context) ([]byte, error) { return make([]byte, size), nil })
			if _, err := big.Wait(ctx); err != nil {
				return err
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > 64*size+32<<20 {
			t.Errorf("%d MB in use after %d results of %d kB", m.HeapAlloc>>20, tasks, size>>10)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A task whose function has returned, but whose tasks are stopped by its timeout or its cancellation, has not done its work.
func TestTaskThatIsCutShortBelow(t *testing.T) {
	starts := func(ctx context.Context) error {
		Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) })
		return nil
	}
	const late = "context deadline exceeded: the timeout of 1s is over"
	t.Run("timeout", func(t *testing.T) {
		bubble(t, func(t *testing.T, ctx context.Context) {
			var waited, cause error
			err := Run(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error {
					err := Sleep(ctx, time.Hour)
					cause = context.Cause(ctx)
					return err
				})
				_, waited = Go(ctx, starts, Timeout(time.Second)).Wait(context.Background())
				return nil
			})
			for _, err := range []error{err, waited, cause} {
				wantText(t, err, "task run/#2: "+late)
			}
		})
	})
	t.Run("timeout, and the task below ends before the function", func(t *testing.T) {
		bubble(t, func(t *testing.T, ctx context.Context) {
			err := Run(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error {
					_ = starts(ctx)
					<-ctx.Done()
					synctest.Wait()
					return nil
				}, Timeout(time.Second))
				return nil
			})
			wantText(t, err, "task run/#1: "+late)
		})
	})
	t.Run("Supervise", func(t *testing.T) {
		bubble(t, func(t *testing.T, ctx context.Context) {
			err := Supervise(ctx, func(ctx context.Context) error {
				Go(ctx, starts, Timeout(time.Second))
				return nil
			})
			wantText(t, err, "task supervise/#1: "+late)
		})
	})
	t.Run("item", func(t *testing.T) {
		bubble(t, func(t *testing.T, ctx context.Context) {
			err := Each(ctx, count(1), func(ctx context.Context, _ int) error { return starts(ctx) }, Timeout(time.Second))
			wantText(t, err, "item 0: "+late)
		})
	})
	t.Run("Cancel", func(t *testing.T) {
		bubble(t, func(t *testing.T, ctx context.Context) {
			err := Run(ctx, func(ctx context.Context) error {
				task := Go(ctx, starts)
				synctest.Wait()
				task.Cancel(errBoom)
				_, err := task.Wait(ctx)
				wantText(t, err, "task run/#1: context canceled: boom")
				return nil
			})
			if err != nil {
				t.Errorf("the scope failed: %v", err)
			}
		})
	})
}

func TestManyTasks(t *testing.T) {
	var n atomic.Int64
	err := Run(t.Context(), func(ctx context.Context) error {
		for range 100 {
			Go(ctx, func(ctx context.Context) error {
				for range 100 {
					Go(ctx, func(ctx context.Context) error {
						n.Add(1)
						return nil
					})
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || n.Load() != 10_000 {
		t.Errorf("got %v, %d", err, n.Load())
	}
}

func TestObserve(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		events := make(chan Event, 100)
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Second, nil), Name("good"))
			Go(ctx, func(ctx context.Context) error {
				if err := Sleep(ctx, 2*time.Second); err != nil {
					return err
				}
				return errBoom
			}, Name("bad"), Retry(retry.Policy{Attempts: 2, Base: time.Second, Jitter: -1}))
			return nil
		}, Name("main"), Observe(func(e Event) { events <- e }))
		if err == nil {
			t.Error("no failure")
		}
		close(events)
		got := map[string]int{}
		for e := range events {
			text := fmt.Sprintf("%v %s", e.Kind, e.Path)
			if e.Kind == TaskEnded {
				text += fmt.Sprintf(" after %v: %v", e.Elapsed, e.Err)
			}
			if e.Kind == TaskRetrying {
				text += fmt.Sprintf(" in %v, attempt %d: %v", e.Delay, e.Attempt, e.Err)
			}
			got[text]++
		}
		for _, want := range []string{
			"started main", "started main/good", "started main/bad", "started main/bad/attempt 1", "started main/bad/attempt 2",
			"ended main/good after 1s: <nil>",
			"ended main/bad/attempt 1 after 2s: boom",
			"retrying main/bad in 1s, attempt 2: boom",
			"ended main/bad/attempt 2 after 2s: boom",
			"ended main/bad after 5s: task main/bad: after 2 attempts: boom",
			"ended main after 5s: task main/bad: after 2 attempts: boom",
		} {
			if got[want] != 1 {
				t.Errorf("missing %q", want)
			}
			delete(got, want)
		}
		if len(got) != 0 {
			t.Errorf("unexpected: %v", got)
		}
	})
}

// An observer that panics is a failure, and no goroutine waits forever because of it.
func TestObserverThatPanics(t *testing.T) {
	type body = func(context.Context) error
	run := func(open func(context.Context, func(context.Context) error, ...TaskOption) error, how func(Option) body) func(context.Context, Option) error {
		return func(ctx context.Context, o Option) error { return open(ctx, how(o)) }
	}
	task := func(o Option) body {
		return func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Second, nil), o, Name("seen"))
			return nil
		}
	}
	scope := func(o Option) body {
		return func(ctx context.Context) error { return Run(ctx, sleepThen(time.Second, nil), o, Name("seen")) }
	}
	for name, start := range map[string]func(context.Context, Option) error{
		"task":                 run(Run, task),
		"task below Supervise": run(Supervise, task),
		"scope":                run(Run, scope),
		"stream": run(Run, func(o Option) body {
			return func(ctx context.Context) error { return Each(ctx, count(1), sleepThenEach, o, Name("seen")) }
		}),
		"batch": run(Run, func(o Option) body {
			return func(ctx context.Context) error {
				return Run(ctx, func(ctx context.Context) error {
					_, err := Collect(Batch(ctx, count(1), 1, 0))
					return err
				}, o, Name("seen"))
			}
		}),
		"root": func(ctx context.Context, o Option) error {
			return Run(ctx, sleepThen(time.Second, nil), o, Name("seen"))
		},
		"stream as a root": func(ctx context.Context, o Option) (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panic: %v", r)
				}
			}()
			return Each(ctx, count(1), sleepThenEach, o, Name("seen"))
		},
	} {
		for _, kind := range []EventKind{TaskStarted, TaskEnded} {
			for _, last := range []string{"seen", "[0]", "batch", "pull"} {
				t.Run(fmt.Sprint(name, " ", kind, " ", last), func(t *testing.T) {
					bubble(t, func(t *testing.T, ctx context.Context) {
						panicked := false
						err := start(ctx, Observe(func(e Event) {
							if e.Kind == kind && strings.HasSuffix(e.Path, last) {
								panicked = true
								panic("observed")
							}
						}))
						if reported := err != nil && strings.Contains(err.Error(), "panic: observed"); reported != panicked {
							t.Errorf("panicked: %v, got %v", panicked, err)
						}
						if strings.Contains(fmt.Sprint(Trees()), "seen") {
							t.Errorf("left behind: %v", Trees())
						}
					})
				})
			}
		}
	}
}

func TestObserverThatCallsGoexit(t *testing.T) {
	for _, kind := range []EventKind{TaskStarted, TaskEnded} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				calls := 0
				err := Run(ctx, func(ctx context.Context) error {
					Go(ctx, func(ctx context.Context) error {
						return Run(ctx, sleepThen(time.Second, nil), Observe(func(e Event) {
							if e.Kind == kind {
								calls++
								runtime.Goexit()
							}
						}))
					})
					return nil
				})
				if err == nil || !strings.HasPrefix(err.Error(), "task run/#1: the function called runtime.Goexit") || calls != 1 {
					t.Errorf("got %v after %d calls", err, calls)
				}
			})
		})
	}
}

func sleepThenEach(ctx context.Context, _ int) error { return Sleep(ctx, time.Second) }

func TestAll(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		value := func(v int, d time.Duration, err error) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) {
				if canceled := Sleep(ctx, d); canceled != nil {
					return 0, canceled
				}
				return v, err
			}
		}
		start := time.Now()
		got, err := All(ctx, value(1, 3*time.Second, nil), value(2, time.Second, nil), value(3, 2*time.Second, nil))
		if fmt.Sprint(got, err) != "[1 2 3] <nil>" || time.Since(start) != 3*time.Second {
			t.Errorf("got %v, %v after %v", got, err, time.Since(start))
		}
		got, err = All(ctx, value(1, time.Hour, nil), value(2, time.Second, errBoom))
		wantText(t, err, "task all/#2: boom")
		if got != nil {
			t.Errorf("got %v with a failure", got)
		}
		if got, err := All[int](ctx); len(got) != 0 || err != nil {
			t.Errorf("All without functions: %v, %v", got, err)
		}

		v, err := Any(ctx, value(1, time.Second, errBoom), value(2, 3*time.Second, nil), value(3, 2*time.Second, nil))
		if v != 3 || err != nil {
			t.Errorf("Any: got %v, %v", v, err)
		}
		_, err = Any(ctx, value(1, 2*time.Second, errBoom), value(2, time.Second, errors.New("bang")))
		wantText(t, err, "task any/#2: bang (and 1 more: task any/#1: boom)")
		_, err = Any[int](ctx)
		wantText(t, err, "meanwhile: any of no functions has no result")

		gone, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("closing"))
		defer cancel()
		_, err = Any(gone, value(1, time.Hour, nil))
		wantText(t, err, "context deadline exceeded: closing")
	})
}

func TestLosersLearnThatTheyLost(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var cause error
		_, _ = Any(ctx,
			func(context.Context) (int, error) { return 1, nil },
			func(ctx context.Context) (int, error) { <-ctx.Done(); cause = context.Cause(ctx); return 0, ctx.Err() })
		if cause == nil || cause.Error() != "another function was first" {
			t.Errorf("cause %v", cause)
		}
	})
}
