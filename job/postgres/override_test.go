package postgres_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestMostOverrides: the number of keys of a queue that have their own limits is bounded.
func TestMostOverrides(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	execSQL(t, pool, "insert into meanwhile.queues (queue, paused, overrides) values ('q', false, 9999)")
	execSQL(t, pool, `insert into meanwhile.overrides select 'q', 'k' || n, '{"running":1}' from generate_series(1, 9999) n`)
	jobtest.TestMostOverrides(t, s)
}
