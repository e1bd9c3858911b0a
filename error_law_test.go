package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
)

// An errorPlan is a function that waits, starts others, and ends in one of the ways in which errors pass through a tree.
type errorPlan struct {
	how      string // how it is started
	before   time.Duration
	work     time.Duration // after it has started the others
	end      string
	late     bool // it also returns its own failure when it was canceled
	wrap     bool // it wraps the failures of others with a text of its own
	children []*errorPlan
}

func (p *errorPlan) String() string {
	return fmt.Sprintf("{%s %v %v %s late=%v wrap=%v %v}", p.how, p.before, p.work, p.end, p.late, p.wrap, p.children)
}

func drawErrors(t *rapid.T, depth int) *errorPlan {
	wait := rapid.Map(rapid.IntRange(0, 4), func(n int) time.Duration { return time.Duration(n) * time.Second })
	p := &errorPlan{
		how: rapid.SampledFrom([]string{
			"go", "go", "go", "wait", "background", "run", "two", "max", "supervise", "shield", "timeout", "canceled",
			"all", "any", "loop", "left", "each", "batch", "inner",
		}).Draw(t, "how"),
		before: wait.Draw(t, "before"),
		work:   wait.Draw(t, "work"),
		end:    rapid.SampledFrom([]string{"ok", "ok", "ok", "fail", "fail", "panic", "cause", "ctx error", "wrapped"}).Draw(t, "end"),
		late:   rapid.Bool().Draw(t, "late"),
		wrap:   rapid.Bool().Draw(t, "wrap"),
	}
	if depth > 0 {
		for range rapid.SampledFrom([]int{2, 3, 1, 0}).Draw(t, "children") {
			p.children = append(p.children, drawErrors(t, depth-1))
		}
	}
	return p
}

// An errorRun records the failures of a plan that runs.
type errorRun struct {
	mu    sync.Mutex
	fails []knownFailure
}

type knownFailure struct{ panics, mayDrop bool }

func (r *errorRun) fail(panics, mayDrop bool) plannedFailure {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = append(r.fails, knownFailure{panics, mayDrop})
	return plannedFailure(len(r.fails))
}

// body returns the function of p. With mayDrop, its failure need not be reported, unless it is a panic.
func (r *errorRun) body(p *errorPlan, mayDrop bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := r.sleep(ctx, p, p.before); err != nil {
			return err
		}
		for _, c := range p.children {
			if err := r.start(ctx, c, mayDrop); err != nil && p.wrap {
				return fmt.Errorf("wrapped: %w", err)
			} else if err != nil {
				return err
			}
		}
		if err := r.sleep(ctx, p, p.work); err != nil {
			return err
		}
		switch p.end {
		case "fail":
			return r.fail(false, mayDrop)
		case "panic":
			panic(r.fail(true, mayDrop))
		}
		return nil
	}
}

func (r *errorRun) sleep(ctx context.Context, p *errorPlan, d time.Duration) error {
	if p.late && (p.end == "fail" || p.end == "panic") {
		ctx = context.WithoutCancel(ctx)
	}
	err := Sleep(ctx, d)
	switch {
	case err == nil:
		return nil
	case p.end == "cause":
		return context.Cause(ctx)
	case p.end == "ctx error":
		return ctx.Err()
	case p.end == "wrapped":
		return fmt.Errorf("stopped: %w", ctx.Err())
	}
	return err
}

// start starts p. If it waits for p, it returns the error.
func (r *errorRun) start(ctx context.Context, p *errorPlan, mayDrop bool) error {
	body := r.body(p, mayDrop)
	loses := r.body(p, true)
	item := func(ctx context.Context, _ int) (int, error) { return 0, loses(ctx) }
	function := func(ctx context.Context) (int, error) { return 0, body(ctx) }
	switch p.how {
	case "go":
		Go(ctx, body)
	case "wait":
		_, err := Go(ctx, body).Wait(context.Background())
		return err
	case "background":
		Go(ctx, body, InBackground())
	case "run":
		return Run(ctx, body)
	case "two":
		return Run(ctx, r.two(body, r.body(p, mayDrop)))
	case "max":
		return Run(ctx, body, MaxTasks(2))
	case "supervise":
		return Supervise(ctx, body)
	case "shield":
		return Shield(ctx, 2*time.Second, body)
	case "timeout":
		Go(ctx, body, Timeout(time.Second))
	case "canceled":
		task := Go(ctx, body)
		time.AfterFunc(time.Second, func() { task.Cancel(nil) })
	case "all":
		_, err := All(ctx, function, func(ctx context.Context) (int, error) { return 0, Sleep(ctx, time.Second) })
		return err
	case "any":
		lost := func(ctx context.Context) (int, error) { return 0, loses(ctx) }
		_, err := Any(ctx, lost, lost)
		return err
	case "each":
		return Each(ctx, count(3), func(ctx context.Context, _ int) error { return loses(ctx) })
	case "loop":
		var all, last error
		for _, err := range Map(ctx, count(2), item) {
			if failed := new(ItemError); errors.As(err, &failed) {
				all = errors.Join(all, err)
			} else if err != nil {
				last = err
			}
		}
		if all != nil {
			return all
		}
		return last
	case "left":
		return firstOf(Map(ctx, count(3), item, Unordered(), Limit(2)))
	case "batch":
		return firstOf(Batch(ctx, Map(ctx, count(3), item), 2, time.Second))
	case "inner":
		return firstOf(Map(ctx, Map(ctx, count(3), item, Name("inner")), func(_ context.Context, i int) (int, error) { return i, nil }))
	}
	return nil
}

// two waits for two tasks and joins their failures, unless one of them only stopped because of the other or of what canceled
// both.
func (*errorRun) two(first, second func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		a, b := Go(ctx, first), Go(ctx, second)
		_, one := a.Wait(context.Background())
		_, other := b.Wait(context.Background())
		cause := context.Cause(ctx)
		switch {
		case errors.Is(one, context.Canceled) && other != nil:
			return other
		case one != nil && (errors.Is(other, context.Canceled) || errors.Is(one, cause) && errors.Is(other, cause)):
			return one
		}
		return errors.Join(one, other)
	}
}

func firstOf[T any](s Stream[T]) error {
	for _, err := range s {
		if err != nil {
			return err
		}
	}
	return nil
}

// countOf returns how often err contains a failure, not counting where it is reported as the cause of a cancellation.
func countOf(err error, f plannedFailure) (n int) {
	if err == error(f) {
		return 1
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return countOf(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		below := e.Unwrap()
		if fmt.Sprintf("%T", err) == "*scope.interrupted" { // an error and its cause
			below = below[:1]
		}
		for _, b := range below {
			n += countOf(b, f)
		}
	}
	return n
}

// For any tree: a failure is reported at most once, and a panic, or a failure that may not be dropped, is reported.
func TestLawFailuresAreReportedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := drawErrors(rt, 2)
		cancelAfter := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5}).Draw(rt, "cancelAfter")) * time.Second
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if cancelAfter > 0 {
				time.AfterFunc(cancelAfter, cancel)
			}
			var r errorRun
			err := Run(ctx, r.body(plan, false))
			for i, f := range r.fails {
				number := plannedFailure(i + 1)
				if n := countOf(err, number); n > 1 {
					rt.Errorf("%v is reported %d times", number, n)
				}
				if (f.panics || !f.mayDrop) && !errors.Is(err, number) {
					rt.Errorf("%v is lost", number)
				}
			}
			if rt.Failed() {
				rt.Logf("%v\ncanceled after %v: %v", plan, cancelAfter, err)
			}
		})
	})
}
