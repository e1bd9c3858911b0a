package sqlite_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/lanes/lanelaw"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// TestLaneLaw: the lane caches of two processes match the file, in any sequence of operations, and no job that may start is left.
func TestLaneLaw(t *testing.T) {
	lanelaw.Check(t, func(rt *rapid.T) lanelaw.Database {
		path := migrated(t)
		s, err := sqlite.Open(rt.Context(), path)
		if err != nil {
			rt.Fatal(err)
		}
		rt.Cleanup(func() { _ = s.Close() }) // returns nil
		exec := func(sql string) error {
			_, err := s.DB().ExecContext(rt.Context(), sql)
			return err
		}
		err = errors.Join(exec("create table failing (x)"),
			exec(`create trigger fails after update of attempt on meanwhile_job when exists (select 1 from failing) and new.seq % 3 = 0
				begin select raise(abort, 'it is to fail'); end`))
		if err != nil {
			rt.Fatal(err)
		}
		return lanelaw.Database{
			Open: func() (job.Store, error) { return sqlite.Open(rt.Context(), path) },
			Fail: func(on bool) error {
				if on {
					return exec("insert into failing values (1)")
				}
				return exec("delete from failing")
			},
			Forget: func() error {
				return exec("delete from meanwhile_change where n < (select max(n) from meanwhile_change)")
			},
		}
	})
}
