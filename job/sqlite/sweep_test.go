package sqlite_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestSweep(t *testing.T) {
	jobtest.TestSweep(t, func(t *testing.T) (job.Store, []jobtest.Damage) {
		s := open(t, migrated(t))
		harm := func(sql string) func(t *testing.T) {
			return func(t *testing.T) {
				t.Helper()
				if _, err := s.DB().ExecContext(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
		}
		return s, []jobtest.Damage{
			{Name: "not known", Do: func(*testing.T) { s.ForgetLane("a") }},
			{Name: "not waiting", Do: func(t *testing.T) {
				s.ForgetLane("a")
				harm("delete from meanwhile_waiting where key = 'a'")(t)
			}},
			{Name: "held by nothing", Do: harm(`insert into meanwhile_holder (queue, key, created, id) select queue, key, 1, x'00' from meanwhile_waiting where key = 'a';
				insert into meanwhile_change (queue, key) select id, 'a' from meanwhile_queue`)},
			{Name: "too many run", Queue: true, Do: harm("update meanwhile_count set n = n + 7 where state = 1")},
		}
	})
}
