package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/meanwhile-go/meanwhile/job"
)

// keepStats stores the stats that a worker reported.
func (t *txn) keepStats(r job.Renewal) error {
	run := cmp.Or(r.Run, r.Info.Started).UnixMicro()
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

// Stats returns the rows that match, the oldest first.
func (s *Store) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	var stats []job.Stat
	err := s.read(ctx, "read the stats", func(t *txn) (err error) {
		stats, err = t.stats("stats", f.Since.UnixMicro(), orNull(f.Queue), orNull(f.Kind))
		return err
	})
	return stats, err
}

// stats reads rows with a statement that returns their texts.
func (t *txn) stats(name string, args ...any) ([]job.Stat, error) {
	var texts []string
	err := t.each(statement(name), args, func(v []driver.Value) error {
		texts = append(texts, text(v[0]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return job.ReadStats(texts...)
}

// mergeStats adds up the old rows of the oldest span: only one, so that the transaction is short even if Prune was not called for
// a long time.
func (t *txn) mergeStats() error {
	oldest, err := one(t, statement("stat_oldest"))
	if err != nil || oldest[0] == nil {
		return err
	}
	begin := timeOf(oldest[0]).Truncate(job.StatsSpan)
	end := min(begin.Add(job.StatsSpan).UnixMicro(), t.now-job.StatsKept.Microseconds())
	if integer(oldest[0]) >= end {
		return nil
	}
	rows, err := t.stats("stat_old", begin.UnixMicro(), end)
	if err != nil {
		return err
	}
	for _, stat := range job.MergeStats(rows...) {
		encoded, err := json.Marshal(stat)
		if err != nil {
			return err
		}
		if _, err := t.exec(statement("past_keep"), stat.Minute.UnixMicro(), stat.Queue, stat.Kind, string(encoded)); err != nil {
			return err
		}
	}
	_, err = t.exec(statement("stat_delete"), end)
	return err
}
