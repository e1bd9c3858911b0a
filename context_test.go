package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

// A contextMaker returns a context below parent, and a function that cancels it with a cause.
type contextMaker struct {
	name string
	make func(t *testing.T, parent context.Context) (ctx context.Context, cancel func(cause error))
}

// The standard context is the model. The others must behave like it wherever a program can see a difference.
var contextMakers = []contextMaker{
	{"standard", func(t *testing.T, parent context.Context) (context.Context, func(error)) {
		ctx, cancel := context.WithCancelCause(parent)
		t.Cleanup(func() { cancel(nil) })
		return ctx, cancel
	}},
	{"task", func(t *testing.T, parent context.Context) (context.Context, func(error)) {
		return taskContext(t, parent)
	}},
	{"task in task", func(t *testing.T, parent context.Context) (context.Context, func(error)) {
		outer, cancel := taskContext(t, parent)
		ctx, _ := taskContext(t, outer)
		return ctx, cancel
	}},
	{"task below a derived context", func(t *testing.T, parent context.Context) (context.Context, func(error)) {
		outer, _ := taskContext(t, parent)
		derived, cancel := context.WithCancelCause(outer)
		t.Cleanup(func() { cancel(nil) })
		ctx, _ := taskContext(t, derived)
		return ctx, cancel
	}},
	{"task below a value context", func(t *testing.T, parent context.Context) (context.Context, func(error)) {
		outer, cancel := taskContext(t, parent)
		ctx, _ := taskContext(t, context.WithValue(outer, testKey("between"), 1))
		return ctx, cancel
	}},
	{"stream item", func(t *testing.T, parent context.Context) (context.Context, func(error)) {
		outer, cancel := taskContext(t, parent)
		got, done := make(chan context.Context), make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			one := From(func(yield func(int) bool) { yield(1) })
			for range Map(outer, one, func(ctx context.Context, _ int) (int, error) {
				got <- ctx
				<-done
				return 0, nil
			}) {
			}
		}()
		t.Cleanup(func() { close(done); <-ended })
		return <-got, cancel
	}},
}

// taskContext returns the ctx of a task that lives as long as the test.
func taskContext(t *testing.T, parent context.Context) (context.Context, func(error)) {
	got, done, ended := make(chan context.Context), make(chan struct{}), make(chan struct{})
	tasks := make(chan *Task[struct{}], 1)
	go func() {
		defer close(ended)
		_ = Run(parent, func(ctx context.Context) error {
			task := Go(ctx, func(ctx context.Context) error {
				got <- ctx
				<-done
				return nil
			})
			tasks <- task
			_, _ = task.Wait(context.Background())
			return nil
		})
	}()
	t.Cleanup(func() { close(done); <-ended })
	ctx, task := <-got, <-tasks
	return ctx, func(cause error) { task.Cancel(cause) }
}

type testKey string

var errWhy = errors.New("why")

func TestContextLikeTheStandardLibrarys(t *testing.T) {
	type probe struct {
		name string
		see  func(t *testing.T, m contextMaker) string
	}
	background := context.Background()
	show := func(ctx context.Context) string {
		select {
		case <-ctx.Done():
			return fmt.Sprintf("done err=%v cause=%v", ctx.Err(), context.Cause(ctx))
		default:
			return fmt.Sprintf("live err=%v cause=%v", ctx.Err(), context.Cause(ctx))
		}
	}
	probes := []probe{
		{"live", func(t *testing.T, m contextMaker) string {
			ctx, _ := m.make(t, background)
			_, has := ctx.Deadline()
			return fmt.Sprint(show(ctx), has, ctx.Value(testKey("none")))
		}},
		{"canceled with a cause", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			cancel(errWhy)
			return show(ctx)
		}},
		{"the first cause stays", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			cancel(errWhy)
			cancel(errors.New("later"))
			return show(ctx)
		}},
		{"Done before and after are one", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			before := ctx.Done()
			same := before == ctx.Done()
			cancel(errWhy)
			return fmt.Sprint(same, before == ctx.Done(), show(ctx))
		}},
		{"a waiter wakes", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			woke := make(chan error)
			go func() { <-ctx.Done(); woke <- ctx.Err() }()
			synctest.Wait()
			cancel(errWhy)
			return fmt.Sprint(<-woke)
		}},
		{"values from above, and the nearest wins", func(t *testing.T, m contextMaker) string {
			parent := context.WithValue(background, testKey("k"), "above")
			ctx, _ := m.make(t, parent)
			child := context.WithValue(ctx, testKey("k"), "near")
			return fmt.Sprint(ctx.Value(testKey("k")), child.Value(testKey("k")), ctx.Value(testKey("x")))
		}},
		{"a foreign *int key", func(t *testing.T, m contextMaker) string {
			key := new(int)
			ctx, _ := m.make(t, context.WithValue(background, key, "v"))
			return fmt.Sprint(ctx.Value(key), ctx.Value(new(int)))
		}},
		{"canceled from above", func(t *testing.T, m contextMaker) string {
			parent, cancel := context.WithCancelCause(background)
			ctx, _ := m.make(t, parent)
			done := ctx.Done()
			cancel(errWhy)
			err := ctx.Err() // immediately, before other goroutines could run
			<-done
			return fmt.Sprint(err, show(ctx))
		}},
		{"canceled from above before its start", func(t *testing.T, m contextMaker) string {
			parent, cancel := context.WithCancelCause(background)
			cancel(errWhy)
			ctx, _ := m.make(t, parent)
			return show(ctx)
		}},
		{"deadline from above", func(t *testing.T, m contextMaker) string {
			parent, cancel := context.WithTimeoutCause(background, time.Minute, errWhy)
			defer cancel()
			ctx, _ := m.make(t, parent)
			deadline, has := ctx.Deadline()
			left := time.Until(deadline)
			<-ctx.Done()
			return fmt.Sprint(left, has, show(ctx))
		}},
		{"child contexts", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			child, stop := context.WithCancel(ctx)
			defer stop()
			grandchild, stop := context.WithTimeout(context.WithValue(child, testKey("k"), 1), time.Hour)
			defer stop()
			before := show(grandchild)
			cancel(errWhy)
			synctest.Wait() // a cancellation takes a goroutine to pass through a derived context in between, see docs/design.md
			return fmt.Sprint(before, show(child), show(grandchild))
		}},
		{"a child's own end leaves the parent alone", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			child, stop := context.WithCancelCause(ctx)
			stop(errors.New("child's"))
			first := fmt.Sprint(show(child), show(ctx))
			cancel(errWhy)
			return fmt.Sprint(first, show(child), show(ctx))
		}},
		{"a child of a canceled one", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			cancel(errWhy)
			child, stop := context.WithTimeout(ctx, time.Hour)
			defer stop()
			return show(child)
		}},
		{"a child's deadline", func(t *testing.T, m contextMaker) string {
			ctx, _ := m.make(t, background)
			child, stop := context.WithTimeoutCause(ctx, time.Minute, errWhy)
			defer stop()
			time.Sleep(2 * time.Minute)
			return fmt.Sprint(show(child), show(ctx))
		}},
		{"WithoutCancel", func(t *testing.T, m contextMaker) string {
			parent := context.WithValue(background, testKey("k"), "v")
			ctx, cancel := m.make(t, parent)
			free := context.WithoutCancel(ctx)
			cancel(errWhy)
			child, stop := context.WithCancel(free)
			defer stop()
			return fmt.Sprint(free.Err(), context.Cause(free), free.Done() == nil, free.Value(testKey("k")), show(child))
		}},
		{"AfterFunc", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			var calls []string
			called := make(chan struct{})
			stopA := context.AfterFunc(ctx, func() { calls = append(calls, "a"); close(called) })
			stopB := context.AfterFunc(ctx, func() { calls = append(calls, "b") })
			stopped := stopB()
			cancel(errWhy)
			<-called
			synctest.Wait()
			again := context.AfterFunc(ctx, func() { calls = append(calls, "c") })
			synctest.Wait()
			return fmt.Sprint(calls, stopped, stopA(), stopB(), again())
		}},
		{"many children, some stopped", func(t *testing.T, m contextMaker) string {
			ctx, cancel := m.make(t, background)
			var children []context.Context
			for i := range 20 {
				child, stop := context.WithCancel(ctx)
				defer stop()
				if i%3 == 0 {
					stop()
				}
				children = append(children, child)
			}
			cancel(errWhy)
			synctest.Wait()
			var seen []string
			for _, child := range children {
				seen = append(seen, show(child))
			}
			return fmt.Sprint(seen)
		}},
	}
	for _, p := range probes {
		t.Run(p.name, func(t *testing.T) {
			var want string
			for _, m := range contextMakers {
				if m.name == "stream item" && p.name == "canceled from above before its start" {
					continue // a canceled stream starts no item
				}
				synctest.Test(t, func(t *testing.T) {
					got := p.see(t, m)
					if want == "" {
						want = got
					}
					if got != want {
						t.Errorf("%s context:\n got %s\nwant %s", m.name, got, want)
					}
				})
			}
		})
	}
}

// Child contexts attach to a task's ctx without a goroutine.
func TestContextChildrenCostNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := taskContext(t, context.Background())
		before := runtime.NumGoroutine()
		for range 100 {
			child, stop := context.WithCancel(ctx)
			defer stop()
			grandchild, stop := context.WithTimeout(child, time.Hour)
			defer stop()
			defer context.AfterFunc(grandchild, func() {})()
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("300 child contexts started %d goroutines", after-before)
		}
	})
}

func TestContextEndsWithItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quiet, used, scope context.Context
		err := Run(t.Context(), func(ctx context.Context) error {
			scope = ctx
			_, err := Async(ctx, func(ctx context.Context) (int, error) { quiet = ctx; return 1, nil }).Wait(ctx)
			Go(ctx, func(ctx context.Context) error { used = ctx; ctx.Done(); return nil })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, ctx := range map[string]context.Context{"quiet": quiet, "used": used, "scope": scope} {
			select {
			case <-ctx.Done():
			default:
				t.Errorf("%s: Done is open after the end", name)
			}
			if !errors.Is(ctx.Err(), context.Canceled) || context.Cause(ctx).Error() != "the task has ended" {
				t.Errorf("%s: got %v, %v", name, ctx.Err(), context.Cause(ctx))
			}
			child, stop := context.WithCancel(ctx)
			if child.Err() == nil {
				t.Errorf("%s: a child context of an ended task is not canceled", name)
			}
			stop()
		}
	})
}

func TestContextString(t *testing.T) {
	_ = Run(t.Context(), func(ctx context.Context) error {
		if got := fmt.Sprint(ctx); got != "run page" {
			t.Errorf("got %q", got)
		}
		return nil
	}, Name("page"))
}

// The standard library reports the cancellation of a parent in a goroutine of its own. Err does not wait until that
// goroutine has walked through the tree.
func TestErrDoesNotLagBehindTheParent(t *testing.T) {
	const tasks = 200
	for range 50 {
		parent, cancel := context.WithCancelCause(t.Context())
		err := Run(parent, func(ctx context.Context) error {
			started := make(chan context.Context, tasks)
			for range tasks {
				Go(ctx, func(ctx context.Context) error {
					started <- ctx
					<-ctx.Done()
					return nil
				})
			}
			var all []context.Context
			for range tasks {
				all = append(all, <-started)
			}
			cancel(errWhy)
			for _, ctx := range all {
				if ctx.Err() == nil {
					return errors.New("a task is live after its parent's cancellation")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
