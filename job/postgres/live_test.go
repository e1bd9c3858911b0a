package postgres_test

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestMinutes(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	back := func(by time.Duration) {
		t.Helper()
		for _, statement := range []string{"update meanwhile.orders set made = made - $1::interval", "update meanwhile.watches set until = until - $1::interval"} {
			execSQL(t, pool, statement, by)
		}
	}
	jobtest.TestMinutes(t, s, back, func() (n int) {
		if err := pool.QueryRow(t.Context(), "select (select count(*) from meanwhile.orders) + (select count(*) from meanwhile.watches)").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
}
