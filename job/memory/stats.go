package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const statsKept = 2 * time.Hour

// A statKey tells the row of one run of a worker from all others.
type statKey struct {
	minute, started     int64
	worker, queue, kind string
}

// keepStats keeps what a worker told of itself.
func (s *Store) keepStats(r job.Renewal) {
	for _, stat := range r.Stats {
		key := statKey{stat.Minute.UnixMicro(), r.Info.Started.UnixMicro(), r.Worker, stat.Queue, stat.Kind}
		if before, ok := s.stats[key]; ok && before.Total() > stat.Total() {
			continue
		}
		stat.Worker, stat.Minute = r.Worker, stat.Minute.Round(0).UTC()
		s.stats[key] = stat
	}
}

// Stats returns the rows of all workers since a time, the oldest first.
func (s *Store) Stats(ctx context.Context, since time.Time) ([]job.Stat, error) {
	if _, err := s.enter(ctx, "read the stats"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var stats []job.Stat
	for _, stat := range s.stats {
		if !stat.Minute.Before(since) {
			stats = append(stats, stat)
		}
	}
	slices.SortFunc(stats, func(a, b job.Stat) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return stats, nil
}
