package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestInsertAgainWhileItIsMoved inserts a job a second time, as a caller may after an error that left open whether it was stored, while a transaction
// that claims or settles the job has moved it and not yet committed.
func TestInsertAgainWhileItIsMoved(t *testing.T) {
	for table, waits := range map[string]int{ // the number of transactions that then wait
		"running":  2, // for a claim, which deletes the queued job, the insert waits
		"finished": 1, // the insert finds the running job instead
	} {
		t.Run(table, func(t *testing.T) {
			url := database(t, server())
			s, pool := open(t, url), connect(t, url)
			j := newJob(t)
			insert := func(ctx context.Context) error {
				_, err := s.Insert(ctx, j)
				return err
			}
			if err := insert(t.Context()); err != nil {
				t.Fatal(err)
			}
			var held []*job.Job
			if table == "finished" {
				held = claim(t, s, 1)
			}
			var again error
			release := holdInsertsInto(t, s, url, pool, table)
			err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					if table == "running" {
						c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute}
						_, err := s.Claim(ctx, c)
						return err
					}
					held[0].State = job.Completed
					_, err := s.Settle(ctx, 1, job.Outcomes(held...)...)
					return err
				})
				if err := untilLocked(ctx, pool, 1); err != nil {
					return err
				}
				meanwhile.Go(ctx, func(ctx context.Context) error {
					again = insert(ctx)
					return nil
				})
				if err := untilLocked(ctx, pool, waits); err != nil {
					return err
				}
				return release()
			})
			if err != nil {
				t.Fatal(err)
			}
			if again == nil || !strings.Contains(again.Error(), "a job with the ID exists already") {
				t.Errorf("the insert returned %v", again)
			}
			if n := number(t, pool, "select count(*) from meanwhile.queued"); n != 0 {
				t.Errorf("%d jobs are queued, want none", n)
			}
		})
	}
}

// TestClaimOfWhatRuns: a job that is queued although it is running, as in a database of an older version, is deleted by a claim, with its count. It
// keeps no other job of its queue from being claimed.
func TestClaimOfWhatRuns(t *testing.T) {
	keyed := []job.EnqueueOption{job.LimitKey("key")}
	for name, test := range map[string]struct {
		limits  job.Limits
		options []job.EnqueueOption
	}{
		"plain":            {},
		"limits":           {limits: job.Limits{Running: 100}},
		"keys":             {options: keyed},
		"keys with limits": {limits: job.Limits{EachKey: job.KeyLimits{Running: 100}}, options: keyed},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t, server())
			s, pool := open(t, url), connect(t, url)
			if test.limits != (job.Limits{}) {
				setLimits(t, s, test.limits)
			}
			insert := func() *job.Job {
				t.Helper()
				j := newJob(t, test.options...)
				if _, err := s.Insert(t.Context(), j); err != nil {
					t.Fatal(err)
				}
				return j
			}
			insert()
			claim(t, s, 10)
			execSQL(t, pool, `with again as (
					insert into meanwhile.queued (id, created, run_at, priority, max_attempts, queue, kind, args, options, limit_key)
					select id, created, now(), priority, max_attempts, queue, kind, args, options, limit_key from meanwhile.running
					returning queue, kind
				)
				insert into meanwhile.counts (unfinished, queue, kind) select 1, queue, kind from again`)
			second := insert()
			if got := claim(t, s, 10); len(got) != 1 || got[0].ID != second.ID {
				t.Fatalf("claimed %d jobs, want the second alone", len(got))
			}
			if n := number(t, pool, "select count(*) from meanwhile.queued"); n != 0 {
				t.Errorf("%d jobs are queued, want none", n)
			}
			want := job.Count{Queue: job.DefaultQueue, Kind: "test", State: job.Running, N: 2}
			if got, err := s.Counts(t.Context()); err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("the counts are %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// holdInsertsInto makes each insert into a table wait, once its row is there, until release is called.
func holdInsertsInto(t *testing.T, s *postgres.Store, url string, pool *pgxpool.Pool, table string) (release func() error) {
	t.Helper()
	execSQL(t, pool, `create function wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(4711); return new; end'`)
	execSQL(t, pool, "create trigger wait before insert on meanwhile."+table+" for each row execute function wait()")
	tx := pgxTx(t, s, url)
	if err := tx.exec("select pg_advisory_xact_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	return tx.commit
}

// untilLocked waits until n transactions of the database wait for a lock.
func untilLocked(ctx context.Context, pool *pgxpool.Pool, n int) error {
	for locked := 0; locked < n; {
		const count = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
		if err := pool.QueryRow(ctx, count).Scan(&locked); err != nil {
			return err
		}
	}
	return nil
}
