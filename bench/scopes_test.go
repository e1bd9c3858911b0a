package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/arunsworld/nursery"
	"github.com/gammazero/workerpool"
	"github.com/meanwhile-go/meanwhile"
	"github.com/panjf2000/ants/v2"
	lop "github.com/samber/lo/parallel"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"
)

// A scope is one library's way to start n tasks, to wait for all of them, and to return the first failure.
type scope struct {
	lib string
	// open returns the function that runs the tasks, and one that releases resources. If a library has pools that are meant to be
	// reused, open creates the pool, so that creating it is not measured.
	open func(n int) (run scopeFunc, done func())
	// sleep is how a task of the library waits.
	sleep func(ctx context.Context, d time.Duration) error
	// cancels means that the first failure cancels the ctx of the other tasks.
	cancels bool
}

type scopeFunc func(ctx context.Context, n int, task func(ctx context.Context, i int) error) error

var scopes = []scope{
	{"goroutine", plain(runGoroutines), sleep, false},
	{"context", plain(runContexts), sleep, true},
	{"errgroup", plain(runErrgroup), sleep, false},
	{"errgroup-ctx", plain(runErrgroupContext), sleep, true},
	{"conc", plain(runConc), sleep, true},
	{"nursery", plain(runNursery), sleep, true},
	{"pond", openPond, sleep, true},
	{"ants", openAnts, sleep, false},
	{"workerpool", openWorkerpool, sleep, false},
	{"lo", plain(runLo), sleep, false},
	{"meanwhile", plain(runMeanwhile), meanwhile.Sleep, true},
	{"meanwhile-name", plain(runMeanwhileName), meanwhile.Sleep, true},
	{"meanwhile-wait", plain(runMeanwhileWait), meanwhile.Sleep, true},
}

func plain(run scopeFunc) func(int) (scopeFunc, func()) {
	return func(int) (scopeFunc, func()) { return run, func() {} }
}

// A failure is the first error of several tasks.
type failure struct {
	once sync.Once
	err  error
}

func (f *failure) note(err error) {
	if err != nil {
		f.once.Do(func() { f.err = err })
	}
}

func runGoroutines(ctx context.Context, n int, task func(context.Context, int) error) error {
	var wg sync.WaitGroup
	var first failure
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			first.note(task(ctx, i))
		}()
	}
	wg.Wait()
	return first.err
}

// runContexts gives each task a ctx of its own, as meanwhile does, with only the standard library.
func runContexts(ctx context.Context, n int, task func(context.Context, int) error) error {
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var first failure
	for i := range n {
		ctx, end := context.WithCancelCause(ctx)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer end(nil)
			if err := task(ctx, i); err != nil {
				first.note(err)
				cancel(err)
			}
		}()
	}
	wg.Wait()
	return first.err
}

func runErrgroup(ctx context.Context, n int, task func(context.Context, int) error) error {
	var g errgroup.Group
	for i := range n {
		g.Go(func() error { return task(ctx, i) })
	}
	return g.Wait()
}

func runErrgroupContext(ctx context.Context, n int, task func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return task(ctx, i) })
	}
	return g.Wait()
}

func runConc(ctx context.Context, n int, task func(context.Context, int) error) error {
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for i := range n {
		p.Go(func(ctx context.Context) error { return task(ctx, i) })
	}
	return p.Wait()
}

func runNursery(ctx context.Context, n int, task func(context.Context, int) error) error {
	jobs := make([]nursery.ConcurrentJob, n)
	for i := range n {
		jobs[i] = func(ctx context.Context, failed chan error) {
			if err := task(ctx, i); err != nil {
				failed <- err
			}
		}
	}
	return nursery.RunConcurrentlyWithContext(ctx, jobs...)
}

func openPond(int) (scopeFunc, func()) {
	p := pond.NewPool(0)
	return func(ctx context.Context, n int, task func(context.Context, int) error) error {
		g := p.NewGroupContext(ctx)
		ctx = g.Context()
		for i := range n {
			g.SubmitErr(func() error { return task(ctx, i) })
		}
		return g.Wait()
	}, p.StopAndWait
}

func openAnts(n int) (scopeFunc, func()) {
	p, err := ants.NewPool(n, ants.WithDisablePurge(true))
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, n int, task func(context.Context, int) error) error {
		var wg sync.WaitGroup
		var first failure
		for i := range n {
			wg.Add(1)
			if err := p.Submit(func() { defer wg.Done(); first.note(task(ctx, i)) }); err != nil {
				wg.Done()
				first.note(err)
			}
		}
		wg.Wait()
		return first.err
	}, p.Release
}

func openWorkerpool(n int) (scopeFunc, func()) {
	p := workerpool.New(n)
	return func(ctx context.Context, n int, task func(context.Context, int) error) error {
		var wg sync.WaitGroup
		var first failure
		for i := range n {
			wg.Add(1)
			p.Submit(func() { defer wg.Done(); first.note(task(ctx, i)) })
		}
		wg.Wait()
		return first.err
	}, p.StopWait
}

func runLo(ctx context.Context, n int, task func(context.Context, int) error) error {
	for _, err := range lop.Times(n, func(i int) error { return task(ctx, i) }) {
		if err != nil {
			return err
		}
	}
	return nil
}

func runMeanwhile(ctx context.Context, n int, task func(context.Context, int) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for i := range n {
			meanwhile.Go(ctx, func(ctx context.Context) error { return task(ctx, i) })
		}
		return nil
	})
}

func runMeanwhileName(ctx context.Context, n int, task func(context.Context, int) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for i := range n {
			meanwhile.Go(ctx, func(ctx context.Context) error { return task(ctx, i) }, meanwhile.Name("fetch"))
		}
		return nil
	})
}

// runMeanwhileWait keeps the handles and waits for each task.
func runMeanwhileWait(ctx context.Context, n int, task func(context.Context, int) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		tasks := make([]*meanwhile.Task[int], n)
		for i := range n {
			tasks[i] = meanwhile.Async(ctx, func(ctx context.Context) (int, error) { return i, task(ctx, i) })
		}
		for i, t := range tasks {
			if got, err := t.Wait(ctx); err != nil {
				return err
			} else if got != i {
				return errors.New("another task's result")
			}
		}
		return nil
	})
}

// TestScopes tests that each library does the work that is measured: all tasks run at once and are waited for, the first failure
// is returned, and it cancels the others if the table says so.
func TestScopes(t *testing.T) {
	for _, s := range scopes {
		t.Run(s.lib, func(t *testing.T) {
			const n = 100
			run, done := s.open(n)
			defer done()

			var started, ended atomic.Int64
			all := make(chan struct{})
			err := run(t.Context(), n, func(ctx context.Context, i int) error {
				if started.Add(1) == n {
					close(all)
				}
				<-all
				ended.Add(1)
				return ctx.Err()
			})
			if got := ended.Load(); got != n || err != nil {
				t.Errorf("got %d of %d tasks and error %v", got, n, err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			boom := errors.New("boom")
			started.Store(0)
			ended.Store(0)
			err = run(ctx, n, func(ctx context.Context, i int) error {
				started.Add(1)
				defer ended.Add(1)
				if i == n/2 {
					if !s.cancels {
						cancel()
					}
					return boom
				}
				err := s.sleep(ctx, time.Minute)
				if s.cancels {
					return err
				}
				return nil
			})
			if !errors.Is(err, boom) {
				t.Errorf("got error %v, want boom", err)
			}
			// Pond does not start the remaining tasks after a failure.
			if got, want := ended.Load(), started.Load(); got != want {
				t.Errorf("%d of %d tasks had ended", got, want)
			}
		})
	}
}
