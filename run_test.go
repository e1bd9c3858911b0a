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
	"github.com/meanwhile-go/meanwhile/retry"
)

var errBoom = errors.New("boom")

func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func wantIs(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("got %v, want an error that is %v", err, target)
		}
	}
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// bubble runs f with synctest, which fails the test when a goroutine is leaked.
func bubble(t *testing.T, f func(t *testing.T, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, context.Background()) })
}

func TestRunWaitsForEveryDescendant(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		var deepest time.Duration
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error {
					Go(ctx, func(ctx context.Context) error {
						defer func() { deepest = time.Since(start) }()
						return Sleep(ctx, 3*time.Hour)
					})
					return nil
				})
				return Sleep(ctx, time.Hour)
			})
			return nil
		})
		if err != nil || deepest != 3*time.Hour || time.Since(start) != 3*time.Hour {
			t.Errorf("got %v after %v, deepest %v", err, time.Since(start), deepest)
		}
	})
}

func TestRunReturnsTheFirstFailureAndCancelsTheRest(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		var seen error
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				err := Sleep(ctx, time.Hour)
				seen = context.Cause(ctx)
				return err
			}, Name("slow"))
			Go(ctx, sleepThen(time.Second, errBoom), Name("bad"))
			return nil
		}, Name("load"))
		wantText(t, err, "task load/bad: boom")
		wantIs(t, err, errBoom)
		var task *TaskError
		if !errors.As(err, &task) || task.Path != "load/bad" || task.Err != errBoom {
			t.Errorf("got %#v", task)
		}
		if seen != err {
			t.Errorf("the sleeper's cause is %v, want the failure itself", seen)
		}
		if time.Since(start) != time.Second {
			t.Errorf("took %v", time.Since(start))
		}
	})
}

// sleepThen returns a function that sleeps for d and then returns err.
func sleepThen(d time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		if canceled := Sleep(ctx, d); canceled != nil {
			return canceled
		}
		return err
	}
}

func TestRunJoinsLaterFailuresBehindTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		cleanup := errors.New("cleanup failed")
		own := errors.New("own trouble")
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return cleanup
			}, Name("closer"))
			Go(ctx, sleepThen(time.Second, errBoom), Name("bad"))
			<-ctx.Done()
			_ = Sleep(context.Background(), time.Second)
			return own
		})
		wantText(t, err, "task run/bad: boom (and 2 more: task run/closer: cleanup failed; own trouble)")
		wantIs(t, err, errBoom, cleanup, own)
	})
}

func TestRunLeadsWithTheFunctionsErrorWhenItSaysMore(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			_, err := Async(ctx, func(context.Context) (int, error) { return 0, errBoom }, Name("user")).Wait(ctx)
			return fmt.Errorf("load page: %w", err)
		})
		wantText(t, err, "load page: task run/user: boom")
	})
}

func TestRunLeavesOutErrorsThatObeyACancellation(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			for range 10 {
				Go(ctx, func(ctx context.Context) error {
					child, stop := context.WithTimeout(ctx, time.Hour)
					defer stop()
					<-child.Done()
					return fmt.Errorf("query: %w", child.Err())
				})
			}
			Go(ctx, sleepThen(time.Second, errBoom))
			<-ctx.Done()
			return ctx.Err()
		})
		wantText(t, err, "task run/#11: boom")
	})
}

func TestRunTellsTheCauseOfACancellationFromOutside(t *testing.T) {
	why := errors.New("the user left")
	cases := []struct {
		name string
		fn   func(context.Context) error
		want string
	}{
		{"function stops", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "context canceled: the user left"},
		{"function stops, wrapped", func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("read: %w", ctx.Err())
		}, "read: context canceled: the user left"},
		{"only a task stops", func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Hour, nil))
			return nil
		}, "context canceled: the user left"},
		{"a task of a task stops", func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { Go(ctx, sleepThen(time.Hour, nil)); return nil })
			return nil
		}, "context canceled: the user left"},
		{"nothing was cut short", func(ctx context.Context) error { <-ctx.Done(); return nil }, ""},
		{"a background task stops", func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Hour, nil), InBackground())
			<-ctx.Done()
			return nil
		}, ""},
		{"a failure weighs more", func(ctx context.Context) error { <-ctx.Done(); return errBoom }, "boom"},
	}
	for _, c := range cases {
		for name, open := range map[string]func(context.Context, func(context.Context) error, ...TaskOption) error{"Run": Run, "Supervise": Supervise} {
			t.Run(c.name+" in "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, ctx context.Context) {
					ctx, cancel := context.WithCancelCause(ctx)
					time.AfterFunc(time.Second, func() { cancel(why) })
					err := open(ctx, c.fn)
					if c.want == "" {
						if err != nil {
							t.Errorf("got %v, want nil", err)
						}
						return
					}
					wantText(t, err, c.want)
					if !strings.HasSuffix(c.want, "boom") {
						wantIs(t, err, why, context.Canceled)
					}
				})
			})
		}
	}
}

func TestRunNestsAndItsFailureCanBeHandled(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var inner error
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				inner = Run(ctx, func(ctx context.Context) error {
					Go(ctx, fails(errBoom))
					return Sleep(ctx, time.Hour)
				}, Name("try"))
				return Sleep(ctx, time.Second)
			}, Name("outer"))
			return nil
		})
		if err != nil {
			t.Errorf("got %v", err)
		}
		wantText(t, inner, "task run/outer/try/#1: boom")
	})
}

func TestPanicIsAFailureWithItsStack(t *testing.T) {
	places := map[string]func(ctx context.Context) error{
		"task": func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { explode(); return nil })
			return Sleep(ctx, time.Hour)
		},
		"function": func(context.Context) error { explode(); return nil },
		"async": func(ctx context.Context) error {
			_, err := Async(ctx, func(context.Context) (int, error) { explode(); return 1, nil }).Wait(ctx)
			return err
		},
	}
	for name, fn := range places {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, fn)
				var p *PanicError
				if !errors.As(err, &p) || p.Value != any(errBoom) {
					t.Fatalf("got %v", err)
				}
				wantIs(t, err, errBoom)
				for _, part := range []string{"panic: boom", "explode(", "run_test.go"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in %s", part, err)
					}
				}
			})
		})
	}
}

func explode() { panic(errBoom) }

func TestPanicWithAValueThatIsNoError(t *testing.T) {
	err := Run(t.Context(), func(context.Context) error { panic("no error") })
	var p *PanicError
	if !errors.As(err, &p) || p.Value != "no error" || p.Unwrap() != nil {
		t.Errorf("got %v", err)
	}
}

func TestGoexitIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { runtime.Goexit(); return nil })
			return nil
		})
		if !errors.Is(err, ErrGoexit) || !strings.Contains(err.Error(), "runtime.Goexit") {
			t.Errorf("got %v, want ErrGoexit", err)
		}
	})
}

// A scope that is left by Goexit, as by t.FailNow, cancels its tasks and waits for them.
func TestGoexitOutOfAScope(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var cause error
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = Run(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error { <-ctx.Done(); cause = context.Cause(ctx); return nil })
				runtime.Goexit()
				return nil
			})
		}()
		<-done
		if cause == nil || !strings.Contains(cause.Error(), "Goexit") {
			t.Errorf("the task's cause is %v", cause)
		}
	})
}

func TestSuperviseLetsTasksFailAlone(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var finished atomic.Int32
		err := Supervise(ctx, func(ctx context.Context) error {
			for i := range 5 {
				Go(ctx, func(ctx context.Context) error {
					if err := Sleep(ctx, time.Duration(i)*time.Second); err != nil {
						return err
					}
					if i%2 == 1 {
						return fmt.Errorf("boom %d", i)
					}
					finished.Add(1)
					return nil
				}, Name(fmt.Sprint("w", i)))
			}
			return nil
		})
		wantText(t, err, "task supervise/w1: boom 1 (and 1 more: task supervise/w3: boom 3)")
		if finished.Load() != 3 {
			t.Errorf("%d finished, want 3", finished.Load())
		}
	})
}

func TestSuperviseReportsOnlyWhatNobodyWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Supervise(ctx, func(ctx context.Context) error {
			seen := Go(ctx, fails(errors.New("seen")))
			Go(ctx, fails(errors.New("unseen")))
			if _, err := seen.Wait(ctx); err == nil {
				t.Error("Wait returned nil for a failed task")
			}
			return nil
		})
		wantText(t, err, "task supervise/#2: unseen")
	})
}

func TestSuperviseFailsEachTaskWithWhatIsBelowIt(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		var sibling, other error
		err := Supervise(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				Go(ctx, sleepThen(time.Second, errBoom), Name("reader"))
				Go(ctx, func(ctx context.Context) error { <-ctx.Done(); sibling = context.Cause(ctx); return ctx.Err() }, Name("writer"))
				return Sleep(ctx, time.Hour)
			}, Name("conn 1"))
			Go(ctx, func(ctx context.Context) error { other = Sleep(ctx, time.Minute); return other }, Name("conn 2"))
			return nil
		})
		wantText(t, err, "task supervise/conn 1/reader: boom")
		wantIs(t, sibling, errBoom)
		if other != nil || time.Since(start) != time.Minute {
			t.Errorf("the other connection got %v after %v", other, time.Since(start))
		}
	})
}

func TestSuperviseCancelsItsTasksWhenItsFunctionFails(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		err := Supervise(ctx, func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Hour, nil))
			return errBoom
		})
		wantText(t, err, "boom")
		if time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
	})
}

func TestSuperviseKeepsABoundedNumberOfFailures(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Supervise(ctx, func(ctx context.Context) error {
			for range 150 {
				// These failures are handled, and free their places.
				_, _ = Go(ctx, fails(errBoom)).Wait(ctx)
			}
			for range 150 {
				Go(ctx, fails(errBoom))
			}
			return nil
		})
		if n := strings.Count(err.Error(), "boom"); n != 100 || !strings.Contains(err.Error(), "50 not kept") {
			t.Errorf("%d failures in %v", n, err)
		}
	})
}

func TestSuperviseTellsOfFailuresThatItDidNotKeep(t *testing.T) {
	for _, c := range []struct {
		from, to int // the range of tasks that are waited for once all 150 have failed
		own      error
		want     string
	}{
		{0, 150, nil, ""},
		{0, 150, errors.New("own"), "own"},
		{0, 100, nil, "failures that were not kept: 50"},
		{1, 150, nil, "task supervise/first: boom"},
		{0, 149, nil, "failures that were not kept: 1"},
	} {
		t.Run(fmt.Sprint(c.from, "-", c.to, " ", c.own), func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Supervise(ctx, func(ctx context.Context) error {
					tasks := []*Task[struct{}]{Go(ctx, fails(errBoom), Name("first"))}
					for range 149 {
						synctest.Wait()
						tasks = append(tasks, Go(ctx, fails(errBoom)))
					}
					synctest.Wait()
					for range 2 {
						for _, task := range tasks[c.from:c.to] {
							_, _ = task.Wait(ctx)
						}
					}
					return c.own
				})
				if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
					t.Errorf("got %s, want %q", got, c.want)
				}
			})
		})
	}
}

func TestRunKeepsABoundedNumberOfFailures(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			for range 250 {
				Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return errors.New("late") })
			}
			return errBoom
		})
		if n := strings.Count(err.Error(), "late"); n != 99 || !strings.HasPrefix(err.Error(), "boom (and 250 more") {
			t.Errorf("%d failures in %v", n, err)
		}
	})
}

func TestShield(t *testing.T) {
	why := errors.New("shutting down")
	cases := []struct {
		name         string
		before       time.Duration // until the cancellation; less than zero: before Shield
		work, grace  time.Duration
		timeout      time.Duration
		want         string
		took         time.Duration
		wantDeadline time.Duration // of the function's ctx after the cancellation, measured from the start
	}{
		{name: "no cancellation", before: time.Hour, work: time.Minute, grace: time.Second, took: time.Minute},
		{name: "finishes in the grace", before: time.Second, work: 3 * time.Second, grace: 5 * time.Second, took: 3 * time.Second, wantDeadline: 6 * time.Second},
		{name: "grace is over", before: time.Second, work: time.Hour, grace: 5 * time.Second, took: 6 * time.Second, want: "context canceled: shutting down", wantDeadline: 6 * time.Second},
		{name: "canceled before", before: -1, work: 3 * time.Second, grace: 5 * time.Second, took: 3 * time.Second, wantDeadline: 5 * time.Second},
		{name: "own timeout comes first", before: time.Second, work: time.Hour, grace: time.Minute, timeout: 10 * time.Second, took: 10 * time.Second, want: "context deadline exceeded: the timeout of 10s is over", wantDeadline: 10 * time.Second},
		{name: "grace comes before the timeout", before: time.Second, work: time.Hour, grace: time.Second, timeout: time.Minute, took: 2 * time.Second, want: "context canceled: shutting down", wantDeadline: 2 * time.Second},
	}
	for _, inTask := range []bool{false, true} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s, in a task %v", c.name, inTask), func(t *testing.T) {
				bubble(t, func(t *testing.T, ctx context.Context) {
					ctx, cancel := context.WithCancelCause(ctx)
					if c.before < 0 {
						cancel(why)
					} else {
						time.AfterFunc(c.before, func() { cancel(why) })
					}
					start := time.Now()
					shield := func(ctx context.Context) error {
						var opts []TaskOption
						if c.timeout > 0 {
							opts = append(opts, Timeout(c.timeout))
						}
						return Shield(ctx, c.grace, func(ctx context.Context) error {
							Go(ctx, sleepThen(c.work, nil))
							err := Sleep(ctx, c.work)
							deadline, has := ctx.Deadline()
							if c.wantDeadline != 0 && (!has || deadline.Sub(start) != c.wantDeadline) {
								t.Errorf("deadline %v %v, want %v", deadline.Sub(start), has, c.wantDeadline)
							}
							return err
						}, opts...)
					}
					var err error
					if inTask {
						_ = Run(ctx, func(ctx context.Context) error { err = shield(ctx); return nil })
					} else {
						err = shield(ctx)
					}
					if c.want != "" {
						wantText(t, err, c.want)
					} else if err != nil {
						t.Errorf("got %v", err)
					}
					if took := time.Since(start); took != c.took {
						t.Errorf("took %v, want %v", took, c.took)
					}
				})
			})
		}
	}
}

func TestShieldHidesADeadlineUntilItHasPassed(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		start := time.Now()
		err := Shield(ctx, time.Minute, func(ctx context.Context) error {
			if deadline, has := ctx.Deadline(); has {
				t.Errorf("deadline %v", deadline)
			}
			return Sleep(ctx, time.Hour)
		})
		wantIs(t, err, context.DeadlineExceeded)
		if took := time.Since(start); took != time.Minute+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestTimeoutOfAScope(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, sleepThen(time.Hour, nil))
			return nil
		}, Timeout(time.Second))
		wantText(t, err, "context deadline exceeded: the timeout of 1s is over")
		wantIs(t, err, context.DeadlineExceeded)
	})
}

// A shield may end at the moment of the cancellation from outside, which arrives in a goroutine of its own.
func TestShieldEndsAsItIsCanceled(t *testing.T) {
	for range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Shield(ctx, time.Hour, fails(nil)); err != nil {
			t.Fatal(err)
		}
	}
}

// A manyErrors cannot be compared: == on two of them panics.
type manyErrors []error

func (e manyErrors) Error() string { return fmt.Sprint(len(e), " errors") }

func TestErrorsThatCannotBeCompared(t *testing.T) {
	many := manyErrors{errBoom, errBoom}
	places := map[string]func(ctx context.Context) error{
		"function": fails(many),
		"task":     func(ctx context.Context) error { Go(ctx, fails(many)); return Sleep(ctx, time.Hour) },
		"waited": func(ctx context.Context) error {
			_, err := Go(ctx, fails(many)).Wait(ctx)
			return fmt.Errorf("waited: %w", err)
		},
		"supervised": func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error { Go(ctx, fails(many)); Go(ctx, fails(many)); return nil })
		},
		"cause": func(ctx context.Context) error {
			task := Go(ctx, sleepThen(time.Hour, nil))
			task.Cancel(many)
			_, err := task.Wait(ctx)
			return err
		},
		"item": func(ctx context.Context) error {
			return Each(ctx, count(3), func(ctx context.Context, _ int) error { ctx.Done(); return many })
		},
		"source": func(ctx context.Context) error {
			_, err := Collect(Batch(ctx, func(yield func(int, error) bool) { yield(0, many) }, 2, 0))
			return err
		},
		"retried": func(ctx context.Context) error { return Run(ctx, fails(many), Retry(retry.Policy{Attempts: 2})) },
	}
	for name, fn := range places {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, fn)
				var got manyErrors
				if !errors.As(err, &got) || len(got) != 2 {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
