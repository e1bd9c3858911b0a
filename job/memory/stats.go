package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A statKey identifies a row of one run of a worker.
type statKey struct {
	minute, run         int64
	worker, queue, kind string
}

// keepStats stores the stats that a worker reported.
func (s *Store) keepStats(r job.Renewal) {
	run := cmp.Or(r.Run, r.Info.Started).UnixMicro()
	for _, stat := range r.Stats {
		key := statKey{stat.Minute.UnixMicro(), run, r.Worker, stat.Queue, stat.Kind}
		if before, ok := s.stats[key]; ok && before.Total() > stat.Total() {
			continue
		}
		stat.Worker, stat.Minute = r.Worker, stat.Minute.Round(0).UTC()
		s.stats[key] = stat
	}
}

// Stats returns the rows that match, the oldest first.
func (s *Store) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	if _, err := s.enter(ctx, "read the stats"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var stats []job.Stat
	for _, rows := range []map[statKey]job.Stat{s.stats, s.past} {
		for _, stat := range rows {
			if f.Matches(&stat) {
				stats = append(stats, stat)
			}
		}
	}
	slices.SortFunc(stats, func(a, b job.Stat) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return stats, nil
}

// pruneStats adds up the rows of old minutes, and deletes the oldest rows.
func (s *Store) pruneStats(now time.Time) {
	old := func(_ statKey, stat job.Stat) bool { return now.Sub(stat.Minute) > job.StatsKept }
	var rows []job.Stat
	for key, stat := range s.stats {
		if old(key, stat) {
			rows = append(rows, stat)
		}
	}
	if len(rows) > 0 {
		maps.DeleteFunc(s.stats, old)
		for _, stat := range job.MergeStats(slices.AppendSeq(slices.Collect(maps.Values(s.past)), slices.Values(rows))...) {
			s.past[statKey{minute: stat.Minute.UnixMicro(), queue: stat.Queue, kind: stat.Kind}] = stat
		}
	}
	maps.DeleteFunc(s.past, func(_ statKey, stat job.Stat) bool { return now.Sub(stat.Minute) > job.StatsPast })
}
