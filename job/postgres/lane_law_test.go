package postgres_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/lanes/lanelaw"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestLaneLaw: the lane caches of two processes match the database, in any sequence of operations, and no job that may start is left.
func TestLaneLaw(t *testing.T) {
	testenv.LongTest(t) // runs thousands of claims, each a transaction
	t.Parallel()
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	execSQL(t, pool, "create table failing (x int)")
	execSQL(t, pool, `create function fails() returns trigger language plpgsql as $$
		begin
			if exists (select from failing) and get_byte(uuid_send(new.id), 15) % 3 = 0 then raise 'it is to fail'; end if;
			return new;
		end $$`)
	execSQL(t, pool, "create trigger fails before insert on meanwhile.running for each row execute function fails()")
	lanelaw.Check(t, func(rt *rapid.T) lanelaw.Database {
		exec := func(sql string) error {
			_, err := pool.Exec(rt.Context(), sql)
			return err
		}
		for _, table := range []string{"queued", "running", "finished", "queues", "lanes", "touched", "noted", "changes", "holders", "counts", "sessions"} {
			if err := exec("delete from meanwhile." + table); err != nil {
				rt.Fatal(err)
			}
		}
		if err := exec("delete from failing"); err != nil {
			rt.Fatal(err)
		}
		return lanelaw.Database{
			Open: func() (job.Store, error) { return postgres.New(rt.Context(), pool) },
			Fail: func(on bool) error {
				if on {
					return exec("insert into failing values (1)")
				}
				return exec("delete from failing")
			},
			Forget: func() error { return exec("delete from meanwhile.changes") },
			Late: func(jobs []*job.Job, meanwhile func(), commit bool) error {
				tx, err := pool.Begin(rt.Context())
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback(rt.Context()) }() // does nothing after a commit
				if _, err := s.Tx(tx).Insert(rt.Context(), jobs...); err != nil {
					return err
				}
				if meanwhile(); !commit {
					return nil
				}
				return tx.Commit(rt.Context())
			},
		}
	})
}
