package job_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMergeStatsBound: a span has a bounded number of rows, whatever kinds and queues there are, and still counts everything.
func TestMergeStatsBound(t *testing.T) {
	at := time.Date(2026, 1, 31, 15, 4, 0, 0, time.UTC)
	var rows []job.Stat
	for i := range 3 * job.MostStats {
		rows = append(rows, job.Stat{Minute: at, Worker: "w", Queue: fmt.Sprint("q", i%(2*job.MostStats)), Kind: fmt.Sprint("k", i), Completed: 1})
	}
	merged := job.MergeStats(rows...)
	sum := int64(0)
	for _, s := range merged {
		sum += s.Completed
	}
	if len(merged) > job.MostStats+1 || sum != int64(len(rows)) {
		t.Errorf("got %d rows that count %d, want at most %d that count %d", len(merged), sum, job.MostStats+1, len(rows))
	}
	if again := job.MergeStats(merged...); len(again) != len(merged) {
		t.Errorf("%d rows become %d when they are added up again", len(merged), len(again))
	}
}
