package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// A deadlockCount counts the statements that the server aborts because of a deadlock.
type deadlockCount struct{ atomic.Int64 }

func (*deadlockCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (c *deadlockCount) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if failed, ok := errors.AsType[*pgconn.PgError](data.Err); ok && failed.Code == "40P01" {
		c.Add(1)
	}
}

// TestKeysAreLockedInOneOrder: inserts that replace the holders of several keys, actions on these holders, and workers that run them lock keys in
// one order. So they never deadlock, which the server would end after a second with an error for one of them.
func TestKeysAreLockedInOneOrder(t *testing.T) {
	const keys, rounds = 20, 50
	type call func(ctx context.Context, s job.Store) error
	unique := func(opts ...job.EnqueueOption) call {
		return func(ctx context.Context, s job.Store) error {
			jobs := make([]*job.Job, keys)
			for i := range jobs {
				jobs[i] = newJob(t, append(opts, job.Unique(fmt.Sprint("key ", i)))...)
			}
			_, err := s.Insert(ctx, jobs...)
			return err
		}
	}
	insert := func(reverse bool, delay time.Duration) call {
		return func(ctx context.Context, s job.Store) error {
			jobs := make([]*job.Job, keys)
			for i := range jobs {
				jobs[i] = newJob(t, job.Debounce(fmt.Sprint("key ", i), delay, 2*delay))
			}
			if reverse {
				slices.Reverse(jobs)
			}
			_, err := s.Insert(ctx, jobs...)
			return err
		}
	}
	applyTo := func(limit int, action job.Action) call {
		return func(ctx context.Context, s job.Store) error {
			_, err := s.Apply(ctx, job.Filter{Limit: limit}, action)
			return err
		}
	}
	apply := func(action job.Action) call { return applyTo(1000, action) }
	run := func(ctx context.Context, s job.Store) error {
		c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: keys}}, Limit: keys, Lease: time.Minute}
		claimed, err := s.Claim(ctx, c)
		if err != nil || len(claimed.Jobs) == 0 {
			return err
		}
		for _, j := range claimed.Jobs {
			j.State = job.Completed
		}
		_, err = s.Settle(ctx, 1, job.Outcomes(claimed.Jobs...)...)
		return err
	}
	forward, backward := insert(false, time.Hour), insert(true, time.Hour)
	for name, calls := range map[string][]call{
		"insert":   {forward, backward},
		"cancel":   {forward, apply(job.ActionCancel)},
		"delete":   {forward, apply(job.ActionDelete), apply(job.ActionCancel)},
		"move":     {forward, apply(job.ActionMove("other"))},
		"retry":    {backward, apply(job.ActionRetry), apply(job.ActionCancel)},
		"again":    {backward, apply(job.ActionRetry), applyTo(keys/2, job.ActionCancel)}, // on some jobs that have a key, and on others that take theirs
		"priority": {backward, apply(job.ActionPriority(3))},
		"run":      {insert(false, time.Millisecond), run},
		"free":     {unique(), unique(), unique(), run},
		"replace":  {unique(job.Replace()), unique(job.Replace()), unique(job.Replace()), run},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t, server())
			open(t, url)
			deadlocks := new(deadlockCount)
			err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
				for _, call := range calls {
					config, err := pgxpool.ParseConfig(url)
					if err != nil {
						return err
					}
					config.ConnConfig.Tracer = deadlocks
					pool, err := pgxpool.NewWithConfig(ctx, config)
					if err != nil {
						return err
					}
					t.Cleanup(pool.Close)
					s, err := postgres.New(ctx, pool)
					if err != nil {
						return err
					}
					t.Cleanup(func() { _ = s.Close() })
					meanwhile.Go(ctx, func(ctx context.Context) error {
						for range rounds {
							if err := call(ctx, s); err != nil {
								return err
							}
						}
						return nil
					})
				}
				return nil
			})
			if n := deadlocks.Load(); err != nil || n > 0 {
				t.Errorf("%d deadlocks, %v", n, err)
			}
		})
	}
}

// TestRetryTakesKeysBeforeItLocksOthers: a transaction that has taken a free key can still lock a held one, while a retry waits for the former to
// queue a finished job again, and would also make the queued holder of the latter due.
func TestRetryTakesKeysBeforeItLocksOthers(t *testing.T) {
	ctx, url := t.Context(), database(t, server())
	s, pool := open(t, url), connect(t, url)
	finished, queued := newJob(t, job.Unique("a")), newJob(t, job.Unique("b"), job.In(time.Hour))
	insertKeyed(t, s, finished, queued)
	if done, err := s.Apply(ctx, job.Filter{IDs: []job.ID{finished.ID}, Limit: 1}, job.ActionCancel); err != nil || done.Changed != 1 {
		t.Fatalf("cancel: %+v, %v", done, err)
	}
	tx := pgxTx(t, s, url)
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		if _, err := tx.Insert(ctx, newJob(t, job.Unique("a"))); err != nil {
			return err
		}
		retry := meanwhile.Go(ctx, func(ctx context.Context) error {
			done, err := s.Apply(ctx, job.Filter{Limit: 10}, job.ActionRetry)
			if want := (job.ActionResult{Changed: 1, Conflicts: 1}); err == nil && done != want {
				t.Errorf("retry: %+v, want %+v", done, want)
			}
			return err
		})
		waits := "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
		for n := 0; n == 0; {
			select {
			case <-retry.Done():
				return errors.New("the action has not waited for the key")
			default:
			}
			if err := pool.QueryRow(ctx, waits).Scan(&n); err != nil {
				return err
			}
		}
		if _, err := tx.Insert(ctx, newJob(t, job.Debounce("b", time.Hour, time.Hour))); err != nil {
			return err
		}
		return tx.commit()
	})
	if err != nil {
		t.Error(err)
	}
}

// insertKeyed stores jobs, none of whose keys is held.
func insertKeyed(t *testing.T, s *postgres.Store, jobs ...*job.Job) {
	t.Helper()
	ids, err := s.Insert(t.Context(), jobs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if ids[i] != j.ID {
			t.Errorf("the key %q is held by %v", j.UniqueKey, ids[i])
		}
	}
}
