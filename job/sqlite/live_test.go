package sqlite_test

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestMinutes(t *testing.T) {
	s := open(t, migrated(t))
	back := func(by time.Duration) {
		t.Helper()
		for _, statement := range []string{"update meanwhile_order set made = made - ?", "update meanwhile_watch set until = until - ?"} {
			if _, err := s.DB().Exec(statement, by.Microseconds()); err != nil {
				t.Fatal(err)
			}
		}
	}
	jobtest.TestMinutes(t, s, back, func() (n int) {
		if err := s.DB().QueryRow("select (select count(*) from meanwhile_order) + (select count(*) from meanwhile_watch)").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
}
