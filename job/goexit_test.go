package job_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestHandlerThatCallsGoexit: handlers end their goroutine, as t.Fatal does. Each is a failed attempt, and the worker continues and stops as usual.
// It runs two jobs at once, so if two of them took their slots with them, it would run no more.
func TestHandlerThatCallsGoexit(t *testing.T) {
	const text = "the handler called runtime.Goexit"
	tests := []struct {
		name  string
		fn    job.HandlerFunc
		error string
	}{
		{"directly", func(context.Context, *job.Job) error {
			runtime.Goexit()
			return nil
		}, text},
		{"in a scope", func(ctx context.Context, _ *job.Job) error {
			return meanwhile.Run(ctx, func(context.Context) error {
				runtime.Goexit()
				return nil
			})
		}, text},
		{"while a task of it waits", func(ctx context.Context, _ *job.Job) error {
			meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) })
			runtime.Goexit()
			return nil
		}, text},
		{"in a task", func(ctx context.Context, _ *job.Job) error {
			meanwhile.Go(ctx, func(context.Context) error {
				runtime.Goexit()
				return nil
			}, meanwhile.Name("step"))
			return nil
		}, "/step: the function called runtime.Goexit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdleRig(t)
				r.startWorker(
					r.store, job.Config{Concurrency: 2},
					job.HandleRaw("note", test.fn, job.Backoff(second), job.MaxAttempts(2)),
					job.HandleRaw("good", func(context.Context, *job.Job) error { return nil }),
				)
				ids := []job.ID{r.enqueue(job.MaxAttempts(2)), r.enqueue(job.MaxAttempts(2))}
				seconds(0.5)
				for _, id := range ids {
					if j := r.wantState(id, job.Queued); !strings.Contains(j.LastError(), test.error) || j.Used() != 1 {
						t.Errorf("after %d attempts the error is %q, want one with %q in it", j.Used(), j.LastError(), test.error)
					}
				}
				seconds(5)
				for _, id := range ids {
					if j := r.wantState(id, job.Discarded); len(j.Failures) != 2 {
						t.Errorf("failures %+v, want two", j.Failures)
					}
				}
				good, err := job.New("good", []byte("null"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := job.Insert(r.ctx, r.store, good); err != nil {
					t.Fatal(err)
				}
				seconds(1)
				r.wantState(good.ID, job.Completed)
				r.end()
			})
		})
	}
}

// TestGoexitOfManyJobs: Run returns nil even after more such failures than a scope keeps.
func TestGoexitOfManyJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs atomic.Int64
		r := newIdleRig(t)
		config := job.Config{Concurrency: 7, Middleware: []job.Middleware{func(next job.HandlerFunc) job.HandlerFunc {
			return func(ctx context.Context, j *job.Job) error {
				defer errs.Add(1)
				return next(ctx, j)
			}
		}}}
		r.startWorker(r.store, config, noteKind.Handle(func(context.Context, note) error {
			runtime.Goexit()
			return nil
		}))
		for range 300 {
			r.enqueue(job.MaxAttempts(1))
		}
		seconds(5)
		counts, err := r.store.Counts(r.ctx)
		if err != nil || len(counts) != 1 || counts[0].State != job.Discarded || counts[0].N != 300 || errs.Load() != 300 {
			t.Errorf("counts %+v, %v, %d attempts; want 300 jobs discarded", counts, err, errs.Load())
		}
		r.end()
	})
}

// TestGoexitWhileTheWorkerStops: a job whose handler reacts to its cancellation with Goexit is released like any other.
func TestGoexitWhileTheWorkerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		r.startWorker(r.store, job.Config{Grace: time.Second}, noteKind.Handle(func(ctx context.Context, _ note) error {
			<-ctx.Done()
			runtime.Goexit()
			return nil
		}))
		id := r.enqueue()
		seconds(1)
		r.stop()
		if err := <-r.ended; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
		if j := r.wantState(id, job.Queued); j.Used() != 0 {
			t.Errorf("%d attempts are used, want none", j.Used())
		}
	})
}

// TestGoexitIsAnErrorToCompare: an observer can distinguish it from other failures.
func TestGoexitIsAnErrorToCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var observed atomic.Int64
		r := newIdleRig(t)
		ctx, stop := context.WithCancel(r.ctx)
		go func() {
			r.ended <- job.NewWorker(r.store, job.Config{Observe: func(e job.Event) {
				if errors.Is(e.Err, meanwhile.ErrGoexit) {
					observed.Add(1)
				}
			}}, noteKind.Handle(func(context.Context, note) error {
				runtime.Goexit()
				return nil
			})).Run(ctx)
		}()
		r.enqueue()
		seconds(0.5)
		stop()
		if err := <-r.ended; err != nil || observed.Load() != 1 {
			t.Errorf("%v, %d events with ErrGoexit; want one", err, observed.Load())
		}
	})
}

type goexitError struct{}

func (goexitError) Error() string {
	runtime.Goexit()
	return ""
}

// TestGoexitAfterTheHandler: code of the program that is called to decide the outcome calls Goexit. The job is settled nevertheless, and the worker
// continues and stops as usual.
func TestGoexitAfterTheHandler(t *testing.T) {
	tests := map[string]struct {
		err     error
		backoff func(int, error) time.Duration
	}{
		"the backoff":      {errors.New("no"), func(int, error) time.Duration { runtime.Goexit(); return 0 }},
		"the error's text": {goexitError{}, second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, job.Config{Concurrency: 1}, job.HandleRaw("note", func(context.Context, *job.Job) error {
					return test.err
				}, job.Backoff(test.backoff)))
				ids := []job.ID{r.enqueue(job.MaxAttempts(2)), r.enqueue(job.MaxAttempts(2))}
				seconds(30)
				for _, id := range ids {
					j := r.wantState(id, job.Discarded)
					if got := j.Failures[0].Error; !strings.Contains(got, "runtime.Goexit") || !strings.Contains(got, "the backoff") {
						t.Errorf("the first failure is %q", got)
					}
				}
			})
		})
	}
}
