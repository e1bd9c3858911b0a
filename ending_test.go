package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

var errRollback = errors.New("rollback failed")

// rollsBack waits for its cancellation and then fails during cleanup.
func rollsBack(ctx context.Context) error {
	<-ctx.Done()
	return errors.Join(ctx.Err(), errRollback)
}

// An error that is joined with the error of the cancellation is not lost.
func TestFailuresWhileStopping(t *testing.T) {
	boom := errors.New("boom")
	variants := map[string]func(ctx context.Context) error{
		"Run": func(ctx context.Context) error {
			return Run(ctx, func(ctx context.Context) error {
				Go(ctx, rollsBack)
				return boom
			})
		},
		"a scope canceled from outside": func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return Run(ctx, rollsBack)
		},
		"All": func(ctx context.Context) error {
			_, err := All(ctx,
				func(ctx context.Context) (int, error) { return 0, rollsBack(ctx) },
				func(context.Context) (int, error) { return 0, boom })
			return err
		},
		"Supervise": func(ctx context.Context) error {
			return Supervise(ctx, func(ctx context.Context) error {
				Go(ctx, rollsBack)
				return boom
			})
		},
		"Timeout": func(ctx context.Context) error {
			return Run(ctx, func(ctx context.Context) error {
				Go(ctx, rollsBack, Timeout(time.Second))
				return nil
			})
		},
		"Cancel": func(ctx context.Context) error {
			return Run(ctx, func(ctx context.Context) error {
				Go(ctx, rollsBack).Cancel(nil)
				return nil
			})
		},
		"a sibling's error": func(ctx context.Context) error {
			return Run(ctx, func(ctx context.Context) error {
				first := Go(ctx, func(context.Context) error { return boom })
				Go(ctx, func(ctx context.Context) error {
					_, err := first.Wait(context.WithoutCancel(ctx))
					return errors.Join(err, errRollback)
				})
				return nil
			})
		},
	}
	for name, variant := range variants {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := variant(t.Context()); !errors.Is(err, errRollback) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// An error that consists only of the cancellation is not a failure, however it is wrapped.
func TestStoppingIsNoFailure(t *testing.T) {
	for name, stop := range map[string]func(ctx context.Context) error{
		"the error":     func(ctx context.Context) error { return ctx.Err() },
		"the cause":     context.Cause,
		"both, wrapped": func(ctx context.Context) error { return fmt.Errorf("read: %w: %w", ctx.Err(), context.Cause(ctx)) },
		"a dial": func(ctx context.Context) error {
			_, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), func(ctx context.Context) error {
				task := Go(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					return stop(ctx)
				})
				task.Cancel(errors.New("not needed"))
				return nil
			})
			if err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A panic is a failure, whatever its value is.
func TestPanicsWithTheCancellation(t *testing.T) {
	for name, variant := range map[string]func(ctx context.Context) error{
		"in a canceled task": func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { <-ctx.Done(); panic(ctx.Err()) }).Cancel(nil)
			return nil
		},
		"in a task of a scope that fails": func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { <-ctx.Done(); panic(context.Cause(ctx)) })
			return errors.New("boom")
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), variant)
			var p *PanicError
			if !errors.As(err, &p) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPanicsOfLosers(t *testing.T) {
	won, err := Any(t.Context(),
		func(context.Context) (int, error) { return 7, nil },
		func(ctx context.Context) (int, error) { <-ctx.Done(); panic("lost") },
		func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, errRollback },
	)
	var p *PanicError
	if won != 7 || !errors.As(err, &p) || p.Value != "lost" || errors.Is(err, errRollback) {
		t.Errorf("got %d, %v", won, err)
	}
}

func TestPanicsOfAbandonedCalls(t *testing.T) {
	call := func(ctx context.Context, begun func(), release chan struct{}) error {
		_, err := Blocking(ctx, func() (int, error) { begun(); <-release; panic("abandoned") })
		return err
	}
	t.Run("below a scope", func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			release := make(chan struct{})
			begun := make(chan struct{})
			task := Go(ctx, func(ctx context.Context) error { return call(ctx, func() { close(begun) }, release) })
			<-begun
			task.Cancel(nil)
			<-task.Done()
			close(release)
			<-ctx.Done() // the panic fails the scope
			return nil
		})
		var p *PanicError
		if !errors.As(err, &p) || p.Value != "abandoned" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("below none", func(t *testing.T) {
		var log strings.Builder
		logged := make(chan struct{})
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			log.Write(p)
			close(logged)
			return len(p), nil
		}), nil)))
		defer slog.SetDefault(before)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		err := call(ctx, cancel, release)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(release)
		<-logged
		if !strings.Contains(log.String(), "abandoned") {
			t.Errorf("logged %s", log.String())
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// An asker's method asks its ctx whether it is canceled, which needs the locks of the tree.
type asker struct{ ctx context.Context }

func (a *asker) Error() string        { return "asks" }
func (a *asker) Is(target error) bool { return a.ctx.Err() == target && target == nil }

// A mapError cannot be compared.
type mapError map[string]int

func (e mapError) Error() string { return fmt.Sprint("map of ", len(e)) }

// A holdsAny has a comparable type, but its value may not be comparable.
type holdsAny struct{ value any }

func (e holdsAny) Error() string { return fmt.Sprint(e.value) }

func TestErrorsOfTheProgram(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context) error{
		"asks":           func(ctx context.Context) error { return &asker{ctx} },
		"not comparable": func(context.Context) error { return mapError{"a": 1} },
		"holds a map":    func(context.Context) error { return holdsAny{map[string]int{}} },
		"unwraps to itself": func(context.Context) error {
			e := new(circle)
			e.err = e
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), func(scope context.Context) error {
				for range 3 {
					Go(scope, func(ctx context.Context) error {
						<-ctx.Done()
						return fail(scope)
					})
				}
				Go(scope, func(ctx context.Context) error {
					return Run(ctx, func(inner context.Context) error {
						Go(inner, func(ctx context.Context) error {
							<-ctx.Done()
							return fail(inner)
						})
						return fail(inner)
					})
				})
				return fail(scope)
			})
			if err == nil || !strings.Contains(err.Error(), "more") {
				t.Errorf("got %v, want all failures", err)
			}
		})
	}
}

type circle struct{ err error }

func (c *circle) Error() string { return "circle" }
func (c *circle) Unwrap() error { return c.err }

func TestTimeoutsAreThoseOfNet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) }, Timeout(time.Second))
			return nil
		})
		var n net.Error
		if !os.IsTimeout(err) || !errors.As(err, &n) || !n.Timeout() {
			t.Errorf("got %#v", err)
		}
		err = Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { return errRollback })
			return nil
		})
		if os.IsTimeout(err) {
			t.Errorf("%v counts as a timeout", err)
		}
	})
}

func TestNamesInErrorsAreEscaped(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		Go(ctx, func(context.Context) error { return errRollback }, Name("two\nlines \x1b[31m"))
		return nil
	})
	if got, want := err.Error(), `task run/two\nlines \x1b[31m: rollback failed`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A failure that passes through a chain of tasks is reported once, by the task that failed.
func TestFailingChain(t *testing.T) {
	const depth = 500
	var below func(ctx context.Context, depth int) error
	below = func(ctx context.Context, depth int) error {
		if depth == 0 {
			return errRollback
		}
		_, err := Go(ctx, func(ctx context.Context) error { return below(ctx, depth-1) }).Wait(ctx)
		return fmt.Errorf("level %d: %w", depth, err)
	}
	err := Run(t.Context(), func(ctx context.Context) error {
		Go(ctx, func(ctx context.Context) error { return below(ctx, depth) })
		return nil
	})
	if got := strings.Count(err.Error(), "rollback failed"); got != 1 || !errors.Is(err, errRollback) {
		t.Errorf("the failure is reported %d times", got)
	}
}
