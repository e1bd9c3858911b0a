package postgres_test

import (
	"fmt"
	"testing"
)

// TestRowsThatHaveMoved: after the table of queued jobs was rewritten, as by vacuum full, one claim detects that the cached places of the rows are
// wrong, and the next one claims jobs as before.
func TestRowsThatHaveMoved(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	insertWithKeys(t, s, 40, func(i int) string { return fmt.Sprint("key ", i%4) })
	claimed := len(claim(t, s, 4))
	execSQL(t, pool, "vacuum full meanwhile.queued")
	claimed += len(claim(t, s, 4))
	for range 9 {
		claimed += len(claim(t, s, 4))
	}
	if claimed != 40 {
		t.Errorf("claimed %d jobs of 40", claimed)
	}
	if again := claim(t, s, 4); len(again) > 0 || number(t, pool, "select count(*) from meanwhile.queued") > 0 {
		t.Errorf("claimed %d jobs twice", len(again))
	}
}
