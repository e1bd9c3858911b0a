package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// pruneJobs is how many jobs one run deletes.
const pruneJobs = 200

// Prune deletes at most limit finished jobs that are older than their retention, and other outdated data, and compares lanes. It also checks the server
// for Warning.
func (s *Store) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
	deleted := 0
	err := s.call(ctx, "prune jobs", func(ctx context.Context) error {
		c, err := s.connected(ctx)
		if err != nil {
			return err
		}
		if _, err := s.inspect(ctx, c); err != nil && !isRisk(err) {
			return err
		}
		var states []string
		for state, keep := range retention {
			if state.Finished() {
				states = append(states, string(state), span(keep))
			}
		}
		for deleted < limit && len(states) > 0 {
			n := min(limit-deleted, pruneJobs)
			got, err := s.run(ctx, pruneScript, append([]string{strconv.Itoa(n)}, states...)...)
			if err != nil {
				return err
			}
			deleted += int(number(got[0]))
			if number(got[1]) == 0 {
				break
			}
		}
		if err := s.mergeStats(ctx); err != nil {
			return err
		}
		queues, classes := "0", "0"
		for more := true; more; {
			got, err := s.run(ctx, sweepScript, span(job.StatsPast), span(job.CommandKept), span(job.WorkerKept), span(job.SessionKept), span(job.CronKept),
				span(job.AuditKept), queues, classes)
			if err != nil {
				return err
			}
			queues, classes = text(got[1]), text(got[2])
			more = number(got[0]) == 1 || queues != "" || classes != ""
		}
		return nil
	})
	done := job.Pruned{Deleted: deleted}
	if err == nil {
		done.Repaired, err = s.sweepLanes(ctx)
	}
	return done, err
}
