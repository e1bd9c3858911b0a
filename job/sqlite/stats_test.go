package sqlite

import (
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestStatsOfMinuteAreOneRow: the database returns one row for each minute or span, however many workers, queues and kinds there
// are.
func TestStatsOfMinuteAreOneRow(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UTC().Truncate(time.Minute)
	renewal := job.Renewal{Worker: "w", Session: 1, Lease: time.Minute, Info: job.WorkerInfo{Started: now}}
	for _, at := range []time.Time{now.Add(-5 * time.Hour), now.Add(-time.Minute), now} {
		for i := range 20 {
			renewal.Stats = append(renewal.Stats, job.Stat{Minute: at, Worker: "w", Queue: "q", Kind: fmt.Sprint("kind-", i), Completed: 1})
		}
	}
	if _, err := s.Renew(t.Context(), renewal); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), nil, 1); err != nil { // adds up old rows
		t.Fatal(err)
	}
	rows := 0
	err = s.read(t.Context(), "count rows", func(tx *txn) error {
		return tx.each(statement("stats"), []any{int64(0), nil, nil}, func([]driver.Value) error {
			rows++
			return nil
		})
	})
	if err != nil || rows != 3 {
		t.Errorf("%d rows, want 3: %v", rows, err)
	}
	if stats, err := s.Stats(t.Context(), job.StatsFilter{}); err != nil || len(stats) != 60 {
		t.Errorf("%d rows of stats, want 60: %v", len(stats), err)
	}
}
