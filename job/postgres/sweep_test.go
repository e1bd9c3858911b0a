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
		s := open(t, url)
		return s, []jobtest.Damage{
			{Name: "not known", Do: func(*testing.T) { s.ForgetLane("a") }},
			{Name: "held by nothing", Do: harm(`insert into meanwhile.holders select queue, limit_key, '2000-01-01', gen_random_uuid() from meanwhile.queued where limit_key = 'a' limit 1;
				insert into meanwhile.touched (queue, key) select queue, key from meanwhile.holders`)},
		}
	})
}
