package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

const statsKept = 2 * time.Hour

// statArgs are the stats of a worker by column.
func statArgs(r job.Renewal) ([]any, error) {
	n := len(r.Stats)
	minutes, queues, kinds, totals, rows := make([]time.Time, n), make([]string, n), make([]string, n), make([]int64, n), make([]string, n)
	for i := range r.Stats {
		stat := &r.Stats[i]
		row, err := json.Marshal(stat)
		if err != nil {
			return nil, err
		}
		minutes[i], queues[i], kinds[i], totals[i], rows[i] = stat.Minute, stat.Queue, stat.Kind, stat.Total(), string(row)
	}
	return []any{minutes, r.Info.Started, queues, kinds, totals, rows}, nil
}

// Stats returns the rows of all workers since a time, the oldest first.
func (s *Store) Stats(ctx context.Context, since time.Time) (stats []job.Stat, err error) {
	err = s.call(ctx, "read the stats", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("stats"), since)
		if err != nil {
			return err
		}
		stats = nil
		var minute time.Time
		var worker, queue, kind, text string
		_, err = pgx.ForEachRow(rows, []any{&minute, &worker, &queue, &kind, &text}, func() error {
			var stat job.Stat
			if err := json.Unmarshal([]byte(text), &stat); err != nil {
				return fmt.Errorf("stats of worker %s: %w", worker, err)
			}
			stat.Minute, stat.Worker, stat.Queue, stat.Kind = minute.UTC(), worker, queue, kind
			stats = append(stats, stat)
			return nil
		})
		return err
	})
	return stats, err
}
