package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

// The text of an error contains no path twice, and its errors have their whole path.
func TestErrorsDoNotRepeatPaths(t *testing.T) {
	task := func(path string, err error) error { return &TaskError{Path: path, Err: err} }
	for want, err := range map[string]error{
		"task a: boom":                           task("a", task("a", errBoom)),
		"task a: task b/c: boom":                 task("a", task("a/b/c", errBoom)),
		"task a: task b: task c: boom":           task("a", task("a/b", task("a/b/c", errBoom))),
		"task a: task b: task a/c: boom":         task("a", task("b", task("a/c", errBoom))),
		"task a: task ab: boom":                  task("a", task("ab", errBoom)),
		"task a/b: task a: boom":                 task("a/b", task("a", errBoom)),
		"task : task a: boom":                    task("", task("a", errBoom)),
		"task a: item 3: task map/[3]/b: boom":   task("a", &ItemError{Index: 3, Err: task("a/map/[3]/b", errBoom)}),
		"item 3: task a/map/[3]/b: boom":         &ItemError{Index: 3, Err: task("a/map/[3]/b", errBoom)},
		"item 3: <nil>":                          &ItemError{Index: 3},
		"task a: context canceled: task b: boom": task("a", WithCause(context.Canceled, task("a/b", errBoom))),
		"task a: read: task a/b: boom":           task("a", fmt.Errorf("read: %w", task("a/b", errBoom))),
		"task a: panic: task a/b: boom\n\nhere":  task("a", &PanicError{Value: task("a/b", errBoom), Stack: []byte("here")}),
	} {
		wantText(t, err, want)
	}
}

func TestFailuresDoNotRepeatPaths(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		late := func(ctx context.Context) error { <-ctx.Done(); return errors.New("late") }
		stops := func(ctx context.Context) error { return Sleep(ctx, time.Hour) }
		var err error
		err = Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				Go(ctx, fails(errBoom), Name("b"))
				return nil
			}, Name("a"), Retry(retry.Policy{Attempts: 2}))
			return nil
		})
		wantText(t, err, "task run/a: after 2 attempts: task attempt 2/b: boom")
		var last *TaskError
		if !errors.As(errors.Unwrap(err), &last) || last.Path != "run/a/attempt 2/b" {
			t.Errorf("got the path %q", last.Path)
		}

		err = Run(ctx, func(ctx context.Context) error { // joined failures, some of them below a task
			Go(ctx, func(ctx context.Context) error {
				return Run(ctx, func(ctx context.Context) error {
					Go(ctx, fails(errBoom), Name("b"))
					Go(ctx, late, Name("c"))
					return nil
				}, Name("scope"))
			}, Name("a"))
			Go(ctx, late, Name("d"))
			return nil
		})
		wantText(t, err, "task run/a: task scope/b: boom (and 1 more: task scope/c: late) (and 1 more: task run/d: late)")

		err = Run(ctx, func(ctx context.Context) error { // interrupted by the failure of a task, below it or not
			Go(ctx, func(ctx context.Context) error {
				return Run(ctx, func(ctx context.Context) error {
					stopped := Go(ctx, stops, Name("c"))
					Go(ctx, fails(errBoom), Name("b"))
					_, err := stopped.Wait(context.WithoutCancel(ctx))
					wantText(t, err, "task run/a/scope/c: context canceled: task run/a/scope/b: boom")
					return &TaskError{Path: "run/a/scope", Err: errors.Join(err, errBoom)}
				}, Name("scope"))
			}, Name("a"))
			return nil
		})
		wantText(t, errors.Unwrap(err), "task run/a/scope/b: boom (and 1 more: task run/a/scope: "+
			"task run/a/scope/c: context canceled: task run/a/scope/b: boom\nboom)")
	})
}

// Errors that wrap each other in a circle are failures like others, although errors.Is and errors.As never return for them.
func TestErrorsInACircle(t *testing.T) {
	newCircle := func() error {
		c := &circle{}
		c.err = fmt.Errorf("again: %w", c)
		return c
	}
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, fails(newCircle()), Retry(retry.Policy{}))
		wantText(t, err, "after 3 attempts: circle")

		err = Each(ctx, From(slices.Values([]int{1})), func(context.Context, int) error { return newCircle() }, AdaptiveLimit(1, 2))
		wantText(t, err, "item 0: circle")

		err = Run(ctx, func(ctx context.Context) error {
			Every(ctx, time.Second, fails(newCircle()), Name("every"))
			return Sleep(ctx, time.Minute)
		})
		wantText(t, err, "task run/every: circle")

		canceled, cancel := context.WithCancel(ctx)
		cancel()
		_, err = Collect(Generate(canceled, func(context.Context, func(int) bool) error { return newCircle() }))
		wantText(t, err, "circle")
	})
}

// A badMethods is an error whose methods panic, like those of a nil pointer.
type badMethods struct{}

func (*badMethods) Error() string    { return "bad methods" }
func (*badMethods) Unwrap() error    { panic("in Unwrap") }
func (*badMethods) Overloaded() bool { panic("in Overloaded") }

// An error whose methods panic is a failure. It ends neither the process, nor the scope before its tasks have ended.
func TestErrorMethodsThatPanic(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		ended := false
		bad := func(ctx context.Context) error { <-ctx.Done(); return &badMethods{} }
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, bad, Name("a"))
			Go(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended = true
				return nil
			})
			Go(ctx, fails(errBoom), Name("b"))
			return bad(ctx)
		})
		if !ended || !errors.Is(err, errBoom) {
			t.Errorf("the task ended: %v; got %v", ended, err)
		}

		limit := AdaptiveLimit(1, 2)
		for range 2 { // the limiter stays usable
			err = Each(ctx, From(slices.Values([]int{1})), func(context.Context, int) error { return &badMethods{} }, limit)
			wantText(t, err, "item 0: bad methods")
		}
	})
}

type badMark struct{}

func (badMark) Error() string    { return "bad mark" }
func (badMark) Overloaded() bool { panic("in Overloaded") }

func TestOverloadedThatPanics(t *testing.T) {
	limit := AdaptiveLimit(1, 2)
	for range 2 { // the limiter stays usable
		err := Each(t.Context(), From(slices.Values([]int{1, 2})), func(context.Context, int) error { return badMark{} }, limit)
		wantText(t, err, "item 0: bad mark")
	}
}

// The error that fn returns covers all failures that it passes on: none of them is repeated after it.
func TestFailuresThatAreJoinedComeOnce(t *testing.T) {
	for name, c := range map[string]struct {
		join func(first, second error) error
		want string
	}{
		"both":      {func(first, second error) error { return errors.Join(first, second) }, "task run/a: first\ntask run/b: second"},
		"wrapped":   {func(first, second error) error { return fmt.Errorf("both: %w, %w", first, second) }, "both: task run/a: first, task run/b: second"},
		"first":     {func(first, _ error) error { return fmt.Errorf("one: %w", first) }, "one: task run/a: first (and 1 more: task run/b: second)"},
		"with own":  {func(first, _ error) error { return errors.Join(first, errBoom) }, "task run/a: first\nboom (and 1 more: task run/b: second)"},
		"second":    {func(_, second error) error { return fmt.Errorf("one: %w", second) }, "task run/a: first (and 1 more: task run/b: second)"},
		"unrelated": {func(_, _ error) error { return errBoom }, "task run/a: first (and 2 more: task run/b: second; boom)"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, func(ctx context.Context) error {
					a := Go(ctx, fails(errors.New("first")), Name("a"))
					b := Go(ctx, func(ctx context.Context) error {
						<-ctx.Done()
						return errors.New("second")
					}, Name("b"))
					_, first := a.Wait(context.Background())
					_, second := b.Wait(context.Background())
					return c.join(first, second)
				})
				if got := err.Error(); got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
		})
	}
}

// When tasks fail alone, the error of a task contains all failures below it, like that of a scope.
func TestFailuresBelowATaskThatFailsAlone(t *testing.T) {
	work := func(ctx context.Context) error {
		Go(ctx, fails(errors.New("first")), Name("a"))
		Go(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			_ = Sleep(context.Background(), time.Second)
			panic("third")
		}, Name("b"))
		<-ctx.Done()
		return errBoom
	}
	item := func(ctx context.Context, _ int) error { return work(ctx) }
	for name, c := range map[string]struct {
		run  func(ctx context.Context) error
		want string
	}{
		"supervise": {func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error { Go(ctx, work, Name("t")); return nil })
		}, "task supervise/t/a: first (and 2 more: task supervise/t: boom; task supervise/t/b: panic: third"},
		"supervise and wait": {func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error {
				_, err := Go(ctx, work, Name("t")).Wait(ctx)
				return err
			})
		}, "task supervise/t/a: first (and 2 more: task supervise/t: boom; task supervise/t/b: panic: third"},
		"each": {func(ctx context.Context) error {
			return Each(ctx, count(1), item)
		}, "item 0: task each/[0]/a: first (and 2 more: boom; task each/[0]/b: panic: third"},
		"any": {func(ctx context.Context) error {
			_, err := Any(ctx, func(ctx context.Context) (int, error) { return 0, work(ctx) })
			return err
		}, "task any/#1/a: first (and 2 more: task any/#1: boom; task any/#1/b: panic: third"},
		"tasks only": {func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error {
				Go(ctx, func(ctx context.Context) error { _ = work(ctx); return nil }, Name("t"))
				return nil
			})
		}, "task supervise/t/a: first (and 1 more: task supervise/t/b: panic: third"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				if got := firstLine(c.run(ctx)); got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
		})
	}
}

// A scope that cannot return its failures, since Goexit ends its goroutine, reports them to the task around it.
func TestFailuresInAScopeThatGoexitEnds(t *testing.T) {
	inner := func(ctx context.Context) error {
		return Run(ctx, func(ctx context.Context) error {
			Go(ctx, fails(errors.New("first")), Name("a"))
			<-ctx.Done()
			runtime.Goexit()
			return nil
		})
	}
	for name, c := range map[string]struct {
		run  func(ctx context.Context) error
		want string
	}{
		"run": {func(ctx context.Context) error {
			return Run(ctx, func(ctx context.Context) error { Go(ctx, inner, Name("t")); return nil })
		}, "task run/t/run/a: first (and 1 more: task run/t: "},
		"supervise": {func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error { Go(ctx, inner, Name("t")); return nil })
		}, "task supervise/t/run/a: first (and 1 more: task supervise/t: "},
		"each": {func(ctx context.Context) error {
			return Each(ctx, count(1), func(ctx context.Context, _ int) error { return inner(ctx) })
		}, "item 0: task each/[0]/run/a: first (and 1 more: "},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				if err := c.run(ctx); !errors.Is(err, ErrGoexit) || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("got %v, want %s…", err, c.want)
				}
			})
		})
	}
}

// There is no task around a root scope: its failures are logged.
func TestFailuresInARootThatGoexitEnds(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(ctx context.Context) error
		want string
	}{
		"a failure": {fails(errors.New("first")), `level=ERROR msg="what failed in a scope that runtime.Goexit has ended" task=run error="task run/a: first"` + "\n"},
		"none":      {fails(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})))
			defer slog.SetDefault(before)
			bubble(t, func(t *testing.T, ctx context.Context) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = Run(ctx, func(ctx context.Context) error {
						a := Go(ctx, test.fail, Name("a"))
						<-a.Done()
						runtime.Goexit()
						return nil
					})
				}()
				<-done
			})
			if got := log.String(); got != test.want {
				t.Errorf("the log has %q, want %q", got, test.want)
			}
		})
	}
}
