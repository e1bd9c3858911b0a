package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// statArgs returns the stats of a worker by column.
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
	return []any{minutes, cmp.Or(r.Run, r.Info.Started), queues, kinds, totals, rows}, nil
}

// Stats returns the matching rows, oldest first.
func (s *Store) Stats(ctx context.Context, f job.StatsFilter) (stats []job.Stat, err error) {
	err = s.call(ctx, "read the stats", func(ctx context.Context) (err error) {
		stats, err = s.run().stats(ctx, s.sql("stats"), f.Since, text(sought(f.Queue)), text(sought(f.Kind)))
		return err
	})
	return stats, err
}

// stats reads rows of stats with a statement that returns them as texts.
func (r pgxRunner) stats(ctx context.Context, statement string, args ...any) ([]job.Stat, error) {
	rows, err := r.query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	return job.ReadStats(texts...)
}

// mergeStats adds up the rows of the oldest span that is old enough: only one, so that the transaction is short even if Prune was not called for a
// long time.
func (s *Store) mergeStats(ctx context.Context) error {
	rows, err := s.run().query(ctx, s.sql("past_oldest"), interval(job.StatsKept))
	if err != nil {
		return err
	}
	var oldest, end time.Time
	found := false
	_, err = pgx.ForEachRow(rows, []any{&oldest, &end}, func() error {
		found = true
		return nil
	})
	if err != nil || !found {
		return err
	}
	begin := oldest.UTC().Truncate(job.StatsSpan)
	if last := begin.Add(job.StatsSpan); last.Before(end) {
		end = last
	}
	return s.inTx(ctx, func(r pgxRunner) error {
		if _, err := r.ids(ctx, s.sql("past_lock")); err != nil {
			return err
		}
		rows, err := r.stats(ctx, s.sql("past_take"), begin, end)
		if err != nil {
			return err
		}
		merged := job.MergeStats(rows...)
		n := len(merged)
		begins, queues, kinds, texts := make([]time.Time, n), make([]string, n), make([]string, n), make([]string, n)
		for i, stat := range merged {
			encoded, err := json.Marshal(stat)
			if err != nil {
				return err
			}
			begins[i], queues[i], kinds[i], texts[i] = stat.Minute, stat.Queue, stat.Kind, string(encoded)
		}
		_, err = r.ids(ctx, s.sql("past_keep"), begins, queues, kinds, texts)
		return err
	})
}
