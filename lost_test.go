package meanwhile_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

// panicsLate is the function of a stream whose item 0 returns a result immediately, while the others panic when they are
// canceled.
func panicsLate(ctx context.Context, i int) (int, error) {
	if i > 0 {
		<-ctx.Done()
		panic("lost")
	}
	return i, nil
}

// firstLine returns the text of an error without the stack.
func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// A panic of an item that the loop does not receive is a failure of the scope.
func TestPanicOfAnItemAfterTheLoopWasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(context.Context, int) (int, error)
		opts []StreamOption
		want string
	}{
		"its own":   {panicsLate, nil, "task run/pages: item 1: panic: lost"},
		"unordered": {panicsLate, []StreamOption{Unordered()}, "task run/pages: item 1: panic: lost"},
		"retry":     {panicsLate, []StreamOption{Retry(retry.Policy{})}, "task run/pages: item 1: panic: lost"},
		"of a task below": {func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				return i, nil
			}
			Go(ctx, func(ctx context.Context) error { _, err := panicsLate(ctx, i); return err }, Name("below"))
			return i, nil
		}, nil, "task run/pages: item 1: task [1]/below: panic: lost"},
		"of a scope inside": {func(ctx context.Context, i int) (int, error) {
			return i, Run(ctx, func(ctx context.Context) error { _, err := panicsLate(ctx, i); return err })
		}, nil, "task run/pages: item 1: panic: lost"},
		"ended before": {func(_ context.Context, i int) (int, error) {
			if i > 0 {
				panic("lost")
			}
			return i, nil
		}, nil, "task run/pages: item 1: panic: lost"},
		"only errors": {func(ctx context.Context, i int) (int, error) {
			if i > 0 {
				<-ctx.Done()
				return 0, errBoom
			}
			return i, nil
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, func(ctx context.Context) error {
					for range Map(ctx, count(2), c.fn, append(c.opts, Name("pages"))...) {
						synctest.Wait()
						break
					}
					return nil
				})
				if got := firstLine(err); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if p := (*PanicError)(nil); c.want != "" && (!errors.As(err, &p) || !bytes.Contains(p.Stack, []byte("lost_test.go"))) {
					t.Errorf("no stack of the panic in %v", err)
				}
			})
		})
	}
}

// A panic of an item is also not lost when it is in an error that an inner stream yields to a stream that is left.
func TestPanicOfAnItemOfAnInnerStream(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			panics := Map(ctx, count(3), func(_ context.Context, i int) (int, error) {
				if i == 1 {
					panic("lost")
				}
				return i, nil
			})
			for range Map(ctx, panics, func(_ context.Context, i int) (int, error) { return i, nil }) {
				synctest.Wait()
				break
			}
			return nil
		})
		if got := firstLine(err); !strings.HasSuffix(got, "item 1: panic: lost") {
			t.Errorf("got %q", got)
		}
	})
}

// The same holds when a Batch is in between, and when a task of the inner stream panics.
func TestPanicOfAnItemBehindAnotherStream(t *testing.T) {
	panics := func(ctx context.Context, i int) (int, error) {
		if i == 1 {
			Go(ctx, func(context.Context) error { panic("lost") }, Name("below"))
		}
		return i, nil
	}
	for name, loop := range map[string]func(ctx context.Context){
		"batch that waits": func(ctx context.Context) {
			for range Batch(ctx, Map(ctx, count(3), panics, Name("pages")), 1, 0) {
				synctest.Wait()
				break
			}
		},
		"batch before an error": func(ctx context.Context) {
			for range Batch(ctx, Map(ctx, count(3), panics, Name("pages")), 2, 0) {
				break
			}
		},
		"map": func(ctx context.Context) {
			pages := Map(ctx, count(3), panics, Name("pages"))
			for range Map(ctx, pages, func(_ context.Context, i int) (int, error) { return i, nil }, Name("outer")) {
				synctest.Wait()
				break
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, func(ctx context.Context) error { loop(ctx); return nil })
				if got := firstLine(err); !strings.HasSuffix(got, "item 1: task run/pages/[1]/below: panic: lost") {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// A panic that the scope already knows is not reported a second time by the items that it cancels.
func TestPanicThatCancelsAStreamCountsOnce(t *testing.T) {
	for name, give := range map[string]func(ctx context.Context, task *Task[struct{}]) error{
		"error": func(ctx context.Context, _ *Task[struct{}]) error { return ctx.Err() },
		"cause": func(ctx context.Context, _ *Task[struct{}]) error { return context.Cause(ctx) },
		"both":  func(ctx context.Context, _ *Task[struct{}]) error { return errors.Join(ctx.Err(), errBoom) },
		"other task": func(_ context.Context, task *Task[struct{}]) error {
			_, err := task.Wait(context.Background())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, func(ctx context.Context) error {
					task := Go(ctx, func(ctx context.Context) error {
						_ = Sleep(ctx, time.Second)
						panic("once")
					}, Name("panics"))
					for _, err := range Map(ctx, count(3), func(ctx context.Context, _ int) (int, error) {
						<-ctx.Done()
						return 0, give(ctx, task)
					}) {
						if item := (*ItemError)(nil); errors.As(err, &item) {
							t.Errorf("the loop received %v", err)
						}
					}
					return nil
				})
				if got := firstLine(err); got != "task run/panics: panic: once" || strings.Count(err.Error(), "panic: once") != 1 {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// The same holds for a panic among other failures: the items return the cause of their cancellation, which contains all of
// these.
func TestPanicAmongFailuresThatCancelsAStreamCountsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				for range Map(ctx, count(2), func(ctx context.Context, _ int) (int, error) { return 0, Sleep(ctx, time.Hour) }) {
				}
				return nil
			})
			return Supervise(ctx, func(ctx context.Context) error {
				Go(ctx, func(context.Context) error { return errBoom }, Name("fails"))
				_ = Sleep(ctx, time.Second)
				panic("once")
			})
		})
		if text := err.Error(); strings.Count(text, "panic: once") != 1 || strings.Count(text, "task run/supervise/fails: "+errBoom.Error()) != 1 {
			t.Errorf("got %v", err)
		}
	})
}

// Each returns the panics that come after the first failure joined with it, also without a scope around it.
func TestEachReturnsLaterPanics(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		each := func(ctx context.Context) error {
			return Each(ctx, count(3), func(ctx context.Context, i int) error {
				switch i {
				case 0:
					synctest.Wait()
					return errBoom
				case 1:
					<-ctx.Done()
					return errors.New("late")
				}
				<-ctx.Done()
				panic("lost")
			})
		}
		want := "item 0: boom (and 1 more: item 2: panic: lost"
		if got := firstLine(each(ctx)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := firstLine(Run(ctx, each)); got != want {
			t.Errorf("in a scope: got %q, want %q", got, want)
		}
	})
}

// Without a scope, a panic that the loop does not receive is logged.
func TestPanicOfAnItemWithoutAScopeIsLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	bubble(t, func(_ *testing.T, ctx context.Context) {
		for range Map(ctx, count(2), panicsLate, Name("pages")) {
			synctest.Wait()
			break
		}
	})
	if !strings.Contains(log.String(), "task pages: item 1: panic: lost") {
		t.Errorf("got the log %q", log.String())
	}
}
