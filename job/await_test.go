package job_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestAwait: Await returns immediately if the worker is in this process, in whatever state the job ends.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{}, job.HandleResult(noteKind, func(ctx context.Context, n note) (string, error) {
			if err := meanwhile.Sleep(ctx, 3*time.Second); err != nil {
				return "", err
			}
			if n.Text == "bad" {
				return "", job.Cancel(errFlaky)
			}
			return "ok " + n.Text, nil
		}))
		begun := time.Now()
		var result string
		r.must(noteKind.Await(t.Context(), r.store, r.enqueue(), &result))
		if took := time.Since(begun); result != "ok hello" || took > 3*time.Second+10*time.Millisecond {
			t.Errorf("got %q after %v, want it 3 s after the start", result, took)
		}
		bad, err := noteKind.Enqueue(t.Context(), r.store, note{"bad"})
		r.must(err)
		err = noteKind.Await(t.Context(), r.store, bad.ID, &result)
		if failed, ok := errors.AsType[*job.NotCompletedError](err); !ok || failed.Job.State != job.Canceled || !strings.HasSuffix(err.Error(), "is canceled: flaky") {
			t.Errorf("error %v", err)
		}
		if j, err := job.Await(t.Context(), r.store, bad.ID); err != nil || j.State != job.Canceled || j.Finished.IsZero() {
			t.Errorf("a job that finished long ago: %+v, %v", j, err)
		}
		if _, err := job.Await(t.Context(), r.store, job.NewID()); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("a job that does not exist: %v", err)
		}
		other := job.Define[note]("other")
		if err := other.Await(t.Context(), r.store, bad.ID, nil); err == nil || !strings.Contains(err.Error(), `it is of kind "note", not "other"`) {
			t.Errorf("a job of another kind: %v", err)
		}
	})
}

// A valueStore is a Store that is not comparable.
type valueStore struct {
	job.Store
	_ []int
}

// TestAwaitOfAValue: a Store need not be comparable, but then callers share no queries.
func TestAwaitOfAValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{}, noteKind.Handle(func(context.Context, note) error { return nil }))
		j, err := job.Await(t.Context(), valueStore{Store: r.store}, r.enqueue())
		if err != nil || j.State != job.Completed {
			t.Errorf("got %+v, %v", j, err)
		}
	})
}

// TestAwaitShares: a thousand callers share queries, also for jobs that another process finishes, and after the first caller gives up.
func TestAwaitShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		var queries atomic.Int64
		here := jobtest.Faulty(store, func(c jobtest.Call) jobtest.Fault {
			if c.Method == "List" {
				queries.Add(1)
			}
			return jobtest.Fault{}
		})
		var ids []job.ID
		for range 1000 {
			done, err := noteKind.Enqueue(t.Context(), store, note{})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, done.ID)
		}
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			first := meanwhile.Go(ctx, func(ctx context.Context) error {
				_, err := job.Await(ctx, here, ids[0])
				if !errors.Is(err, context.Canceled) {
					return fmt.Errorf("the first caller gave up with %w", err)
				}
				return nil
			})
			synctest.Wait()
			var answered atomic.Int64
			for _, id := range ids {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					j, err := job.Await(ctx, here, id)
					if err == nil && (j.ID != id || j.State != job.Completed) {
						err = fmt.Errorf("%v is %s", j.ID, j.State)
					}
					answered.Add(1)
					return err
				})
			}
			time.Sleep(10 * time.Second)
			first.Cancel(nil)
			synctest.Wait()
			if n := queries.Load(); n > 1000/500*20+1000+10 {
				t.Errorf("%d queries in 10 s for a thousand callers", n)
			}
			before := queries.Load()
			c := job.Claim{Worker: "elsewhere", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1000}}, Limit: 1000, Lease: time.Minute}
			got, err := store.Claim(ctx, c)
			if err != nil {
				return err
			}
			for _, j := range got.Jobs {
				j.State = job.Completed
			}
			if _, err := store.Settle(ctx, 1, job.Outcomes(got.Jobs...)...); err != nil {
				return err
			}
			time.Sleep(600 * time.Millisecond)
			if n := answered.Load(); n != 1000 {
				t.Errorf("%d of 1000 callers have an answer after half a second", n)
			}
			if n := queries.Load() - before; n > 10 {
				t.Errorf("%d queries for the answers", n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestAwaitOfADeletedJob: callers for a deleted job return, and so do those of a closed store. A store that does not answer for a while is asked
// again.
func TestAwaitOfADeletedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		var down atomic.Bool
		here := jobtest.Faulty(store, func(jobtest.Call) jobtest.Fault {
			if down.Load() {
				return jobtest.Fault{Before: errors.New("not now")}
			}
			return jobtest.Fault{}
		})
		enqueue := func() job.ID {
			done, err := noteKind.Enqueue(t.Context(), store, note{})
			if err != nil {
				t.Fatal(err)
			}
			return done.ID
		}
		deleted, kept := enqueue(), enqueue()
		ended := make(chan error, 2)
		for _, id := range []job.ID{deleted, kept} {
			go func() {
				_, err := job.Await(t.Context(), here, id)
				ended <- err
			}()
		}
		synctest.Wait()
		down.Store(true)
		if _, err := store.Apply(t.Context(), job.Filter{IDs: []job.ID{deleted}, Limit: 1}, job.ActionDelete); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("ended while the store did not answer: %v", <-ended)
		}
		down.Store(false)
		time.Sleep(10 * time.Second)
		if err := <-ended; !errors.Is(err, job.ErrNotFound) {
			t.Errorf("a deleted job: %v, want ErrNotFound", err)
		}
		store.Close()
		if err := <-ended; !errors.Is(err, job.ErrClosed) {
			t.Errorf("a closed store: %v, want ErrClosed", err)
		}
	})
}
