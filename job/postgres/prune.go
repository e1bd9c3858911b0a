package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Prune deletes at most limit finished jobs that are older than their retention, the oldest first, and other outdated data, and
// compares lanes.
func (s *Store) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (done job.Pruned, err error) {
	limit = max(limit, 0)
	states := []job.State{job.Completed, job.Canceled, job.Discarded}
	keep := make([]*pgtype.Interval, len(states))
	for i, state := range states {
		if d, ok := retention[state]; ok {
			keep[i] = interval(d)
		}
	}
	err = s.call(ctx, "prune jobs", func(ctx context.Context) error {
		gone, err := s.run().ids(ctx, s.sql("prune"), keep[0], keep[1], keep[2], limit)
		if err != nil {
			return err
		}
		done.Deleted = len(gone)
		if err := s.compact(ctx); err != nil {
			return err
		}
		if err := s.mergeStats(ctx); err != nil {
			return err
		}
		_, err = s.run().ids(ctx, s.sql("prune_rest"), interval(job.WorkerKept), interval(job.CronKept), limit, interval(job.CommandKept), interval(job.StatsPast), interval(job.SessionKept),
			interval(job.AuditKept))
		return err
	})
	if err == nil {
		done.Repaired, err = s.sweepLanes(ctx)
	}
	return done, err
}
