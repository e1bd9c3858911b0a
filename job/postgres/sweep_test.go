package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestSweep(t *testing.T) {
	jobtest.TestSweep(t, func(t *testing.T) (job.Store, []jobtest.Damage) {
		url := database(t, server())
		harm := func(sql string) func(t *testing.T) {
			return func(t *testing.T) {
				t.Helper()
				conn, err := pgx.Connect(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(t.Context())
				if _, err := conn.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
		}
		return open(t, url), []jobtest.Damage{
			{Name: "closed", Do: harm("update meanwhile.lanes set priority = 0, wake = null where key = 'a'")},
			{Name: "missing", Do: harm("delete from meanwhile.lanes where key = 'a'")},
			{Name: "closed until later", Do: harm("update meanwhile.lanes set priority = 0, wake = now() + interval '1 day' where key = 'a'")},
			{Name: "held by nothing", Do: harm(`insert into meanwhile.holders select queue, key, '2000-01-01', gen_random_uuid() from meanwhile.lanes where key = 'a';
				update meanwhile.lanes set priority = 0 where key = 'a'`)},
		}
	})
}
