package sqlite_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestMostOverrides: the number of keys of a queue that have their own limits is bounded.
func TestMostOverrides(t *testing.T) {
	s := open(t, migrated(t))
	for _, sql := range []string{
		"insert into meanwhile_queue (name, overrides) values ('q', 9999)",
		`with recursive n(n) as (select 1 union all select n + 1 from n where n < 9999)
		insert into meanwhile_override select (select id from meanwhile_queue where name = 'q'), 'k' || n, '{"running":1}' from n`,
	} {
		if _, err := s.DB().ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	jobtest.TestMostOverrides(t, s)
}
