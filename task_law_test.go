package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
)

// A treePlan is a task and the tasks that it starts, drawn at random.
type treePlan struct {
	how      string        // how it is started
	before   time.Duration // how long it works before it starts the others
	work     time.Duration // how long it works after that
	end      string
	children []*treePlan
}

func (p *treePlan) String() string {
	return fmt.Sprintf("{%s %v %v %s %v}", p.how, p.before, p.work, p.end, p.children)
}

func drawTree(t *rapid.T, depth int) *treePlan {
	wait := rapid.Map(rapid.IntRange(0, 4), func(n int) time.Duration { return time.Duration(n) * time.Second })
	p := &treePlan{
		how: rapid.SampledFrom([]string{
			"go", "go", "go", "async", "derived", "value", "background", "run", "supervise", "shield", "timeout", "canceled", "map",
		}).Draw(t, "how"),
		before: wait.Draw(t, "begin"),
		work:   wait.Draw(t, "work"),
		end:    "ok",
	}
	switch rapid.IntRange(0, 24).Draw(t, "end") {
	case 7:
		p.end = "fail"
	case 11:
		p.end = "panic"
	}
	if depth > 0 {
		for range rapid.SampledFrom([]int{2, 3, 1, 4, 0}).Draw(t, "children") {
			p.children = append(p.children, drawTree(t, depth-1))
		}
	}
	return p
}

// A treeRun counts events while a plan runs.
type treeRun struct {
	started, ended atomic.Int64
	failures       atomic.Int64 // own failures of tasks
}

// A plannedFailure is the failure of one task.
type plannedFailure int64

func (f plannedFailure) Error() string { return fmt.Sprintf("<failure %d>", int64(f)) }

// body returns the function of a task.
func (r *treeRun) body(p *treePlan) func(context.Context) error {
	return func(ctx context.Context) error {
		r.started.Add(1)
		defer r.ended.Add(1)
		if err := Sleep(ctx, p.before); err != nil {
			return err
		}
		for _, c := range p.children {
			if err := r.start(ctx, c); err != nil {
				return err
			}
		}
		if err := Sleep(ctx, p.work); err != nil {
			return err
		}
		switch p.end {
		case "fail":
			return plannedFailure(r.failures.Add(1))
		case "panic":
			panic(plannedFailure(r.failures.Add(1)))
		}
		return nil
	}
}

// start starts a task according to its plan. If it waits for the task, it returns the task's error.
func (r *treeRun) start(ctx context.Context, p *treePlan) error {
	body := r.body(p)
	switch p.how {
	case "go":
		Go(ctx, body)
	case "async":
		task := Async(ctx, func(ctx context.Context) (int, error) { return 1, body(ctx) })
		if _, err := task.Wait(ctx); err != nil {
			return fmt.Errorf("waited: %w", err)
		}
	case "derived":
		derived, cancel := context.WithTimeout(ctx, time.Hour)
		context.AfterFunc(ctx, cancel)
		Go(derived, body)
	case "value":
		Go(context.WithValue(ctx, testKey("k"), 1), body)
	case "background":
		Go(ctx, body, InBackground())
	case "run":
		return Run(ctx, body)
	case "supervise":
		return Supervise(ctx, body)
	case "shield":
		return Shield(ctx, 2*time.Second, body)
	case "timeout":
		Go(ctx, body, Timeout(time.Second))
	case "canceled":
		task := Go(ctx, body)
		time.AfterFunc(time.Second, func() { task.Cancel(nil) })
	case "map":
		for range Map(ctx, count(2), func(ctx context.Context, _ int) (int, error) { return 0, body(ctx) }) {
		}
	}
	return nil
}

// For any tree: its scope returns when everything below it has ended, and leaks no goroutine; it returns nil only if there
// was no failure to report, and otherwise an error that contains a failure; the error names each failure once.
func TestLawTree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := drawTree(rt, 3)
		cancelAfter := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5}).Draw(rt, "cancelAfter")) * time.Second
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = runTree(t.Context(), plan, cancelAfter) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// runTree runs the plan and describes what was wrong.
func runTree(ctx context.Context, plan *treePlan, cancelAfter time.Duration) string {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	why := errors.New("why")
	if cancelAfter > 0 {
		time.AfterFunc(cancelAfter, func() { cancel(why) })
	}
	var r treeRun
	err := Run(ctx, r.body(plan))
	if r.started.Load() != r.ended.Load() {
		return fmt.Sprintf("%d started, %d ended when Run returned", r.started.Load(), r.ended.Load())
	}
	failures := r.failures.Load()
	switch {
	case failures == 0 && cancelAfter == 0 && !hasHow(plan, "timeout") && err != nil:
		return fmt.Sprintf("nothing failed, got %v", err)
	case failures > 0 && err == nil && !hasHow(plan, "map"):
		return fmt.Sprintf("%d failed, got nil", failures)
	case err != nil && failures == 0 && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, why):
		return fmt.Sprintf("nothing failed and nobody canceled, got %v", err)
	}
	for i := range failures {
		if f := plannedFailure(i + 1); err != nil && strings.Count(err.Error(), f.Error()) > 1 {
			return fmt.Sprintf("%v is told more than once: %v", f, err)
		}
	}
	return ""
}

func hasHow(p *treePlan, how string) bool {
	if p.how == how {
		return true
	}
	for _, c := range p.children {
		if hasHow(c, how) {
			return true
		}
	}
	return false
}

// On the real scheduler, many tasks concurrently start tasks in the same scopes, wait for each other and are canceled.
func TestTasksUnderStress(t *testing.T) {
	for round := range 30 {
		var started, ended atomic.Int64
		err := Supervise(t.Context(), func(scope context.Context) error {
			for i := range 20 {
				Go(scope, func(ctx context.Context) error {
					tasks := make([]*Task[struct{}], 0, 50)
					for j := range 50 {
						target := ctx
						if j%3 == 0 {
							target = scope
						}
						var opts []TaskOption
						if j%7 == 0 {
							opts = append(opts, InBackground())
						}
						task := Go(target, func(ctx context.Context) error {
							started.Add(1)
							defer ended.Add(1)
							if j%5 == 0 {
								<-ctx.Done()
								return ctx.Err()
							}
							return nil
						}, opts...)
						if j%5 == 0 {
							task.Cancel(nil)
						}
						tasks = append(tasks, task)
					}
					for j, task := range tasks {
						if (i+j)%2 == 0 {
							_, _ = task.Wait(ctx)
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil || started.Load() != ended.Load() || started.Load() != 1000 {
			t.Fatalf("round %d: %d started, %d ended, %v", round, started.Load(), ended.Load(), err)
		}
	}
}
