package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const statsKept = 2 * time.Hour

// keepStats keeps what a worker told of itself.
func (t *txn) keepStats(r job.Renewal) error {
	run := r.Info.Started.UnixMicro()
	for i := range r.Stats {
		stat := &r.Stats[i]
		text, err := json.Marshal(stat)
		if err != nil {
			return err
		}
		_, err = t.exec(statement("stat_keep"), stat.Minute.UnixMicro(), r.Worker, run, stat.Queue, stat.Kind, stat.Total(), string(text))
		if err != nil {
			return err
		}
	}
	return nil
}

// Stats returns the rows of all workers since a time, the oldest first.
func (s *Store) Stats(ctx context.Context, since time.Time) ([]job.Stat, error) {
	var stats []job.Stat
	err := s.read(ctx, "read the stats", func(t *txn) error {
		return t.each(statement("stats"), []any{since.UnixMicro()}, func(v []driver.Value) error {
			var stat job.Stat
			if err := json.Unmarshal([]byte(text(v[4])), &stat); err != nil {
				return fmt.Errorf("stats of worker %s: %w", text(v[1]), err)
			}
			stat.Minute, stat.Worker, stat.Queue, stat.Kind = timeOf(v[0]), text(v[1]), text(v[2]), text(v[3])
			stats = append(stats, stat)
			return nil
		})
	})
	return stats, err
}
