package jobtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var waitPromises = []promise{
	{"wait is woken by an insert", func(f *fixture) {
		f.wakes(func() { f.insertNew() })
	}},
	{"wait is woken by an insert before it", func(f *fixture) {
		for range 20 {
			f.insertNew()
			f.waits(job.DefaultQueue)
		}
	}},
	{"wait is woken for any of its queues", func(f *fixture) {
		for _, queue := range []string{"a", "b", "c"} {
			f.wakes(func() { f.insertNew(job.Queue(queue)) }, "a", "b", "c")
		}
	}},
	{"wait names the queues", func(f *fixture) {
		queues := []string{"a", "b", "c"}
		f.quiet(queues...)
		for _, queue := range []string{"b", "a", "c"} {
			f.insertNew(job.Queue(queue))
			for named := false; !named; {
				due, err := f.Wait(f.ctx, queues...)
				if err != nil || len(due) == 0 {
					f.Fatalf("wait returned %v, %v", due, err)
				}
				for _, q := range due {
					if !slices.Contains(queues, q) {
						f.Errorf("wait returned the queue %q, which it was not called for", q)
					}
				}
				named = slices.Contains(due, queue)
			}
		}
	}},
	{"wait is woken by a settle as queued", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.wakes(func() {
			j.State, j.RunAt = job.Queued, time.Time{}
			f.settle("w", j)
		})
	}},
	{"wait is woken by a retry", func(f *fixture) {
		j := f.insertFinished(job.Discarded)
		f.wakes(func() {
			f.apply(job.ActionRetry, j.ID)
		})
	}},
	{"wait is woken by a move to the queue", func(f *fixture) {
		j := f.insertNew(job.Queue("other"))
		f.wakes(func() {
			f.apply(job.ActionMove(job.DefaultQueue), j.ID)
		})
	}},
	{"all that wait are woken", func(f *fixture) {
		for settle := 2 * short; ; settle *= 8 {
			var done []<-chan error
			for range 5 {
				done = append(done, f.waiting(job.DefaultQueue))
			}
			time.Sleep(settle) // until all wait; events from before may not be reported to all of them
			f.insertNew()
			start := time.Now()
			var took time.Duration
			for _, d := range done {
				took = max(took, f.returned(d, start))
			}
			if took <= soon {
				return
			}
			if settle > soon {
				f.Fatalf("one of 5 waits returned after %v, want soon", took)
			}
		}
	}},
	{"wait returns when ctx is canceled", func(f *fixture) {
		f.insertNew()
		ctx, cancel := context.WithTimeout(f.ctx, short)
		defer cancel()
		f.eventually("the end of the wait", func() bool {
			_, err := f.Wait(ctx, "idle")
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				f.Fatalf("wait returned %v, want the error of ctx", err)
			}
			return err != nil
		})
		ctx, cancelNow := context.WithCancel(f.ctx)
		cancelNow()
		if _, err := f.Wait(ctx, job.DefaultQueue); !errors.Is(err, context.Canceled) {
			f.Errorf("wait with a canceled ctx returned %v", err)
		}
	}},
	{"wait on an idle queue waits", func(f *fixture) {
		ctx, cancel := context.WithTimeout(f.ctx, 4*short)
		defer cancel()
		f.insertNew()
		returns := 0
		for returns <= 20 {
			if _, err := f.Wait(ctx, "idle"); err != nil {
				break
			}
			returns++
		}
		if returns > 20 {
			f.Errorf("wait returned more than 20 times within %v without a cause", 4*short)
		}
	}},
}

// soon is how long after its cause a wait may return; one that gets no notification may return later.
const soon = 5 * time.Second

// wakes tests that a wait which has no cause yet returns after do. Without queues, it waits for the default queue.
func (f *fixture) wakes(do func(), queues ...string) {
	f.Helper()
	if len(queues) == 0 {
		queues = []string{job.DefaultQueue}
	}
	f.quiet(queues...)
	done := f.waiting(queues...)
	time.Sleep(2 * pause)
	do()
	f.woken(done, time.Now())
}

// quiet waits until a wait has returned for all earlier events.
func (f *fixture) quiet(queues ...string) {
	f.Helper()
	f.eventually("the store to be quiet", func() bool {
		ctx, cancel := context.WithTimeout(f.ctx, short)
		defer cancel()
		_, err := f.Wait(ctx, queues...)
		return err != nil
	})
}

// waiting starts a wait.
func (f *fixture) waiting(queues ...string) <-chan error {
	done := make(chan error, 1)
	f.spawn(func(ctx context.Context) {
		_, err := f.Wait(ctx, queues...)
		done <- err
	})
	return done
}

// spawn runs fn concurrently with the test. Its ctx is canceled at the end of the test, which waits for it.
func (f *fixture) spawn(fn func(ctx context.Context)) {
	meanwhile.Go(f.ctx, func(ctx context.Context) error {
		fn(ctx)
		return nil
	}, meanwhile.InBackground())
}

// woken tests that a wait returns soon after its cause.
func (f *fixture) woken(done <-chan error, cause time.Time) {
	f.Helper()
	if took := f.returned(done, cause); took > soon {
		f.Errorf("wait returned after %v, want soon", took)
	}
}

// returned waits for a wait to return, and returns how long after its cause it did.
func (f *fixture) returned(done <-chan error, cause time.Time) time.Duration {
	f.Helper()
	select {
	case err := <-done:
		if err != nil {
			f.Fatalf("wait: %v", err)
		}
	case <-f.ctx.Done():
		f.Fatal("wait was not woken")
	}
	return time.Since(cause)
}

func (f *fixture) waits(queues ...string) {
	f.Helper()
	if _, err := f.Wait(f.ctx, queues...); err != nil {
		f.Fatalf("wait: %v", err)
	}
}
