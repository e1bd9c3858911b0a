package memory

import (
	"context"
	"maps"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Prune deletes at most limit finished jobs that are older than their retention, and other outdated data. It does not compare lanes: lanes and
// jobs are changed together under one lock, and are gone when the process ends.
func (s *Store) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
	now, err := s.enter(ctx, "prune jobs")
	if err != nil {
		return job.Pruned{}, err
	}
	defer s.mu.Unlock()
	deleted := 0
	for ; deleted < limit; deleted++ {
		var oldest *entry
		for state, keep := range retention {
			h := s.finished[state]
			if h == nil {
				continue
			}
			if e := h.top(); e != nil && now.Sub(e.Finished) > keep && (oldest == nil || finishedBefore(e, oldest)) {
				oldest = e
			}
		}
		if oldest == nil {
			break
		}
		s.unlink(oldest)
		s.remove(oldest) // its unique key stays held as long as UniqueFor says
	}
	s.pruneKeys(now)
	s.pruneStats(now)
	s.pruneAudit(now)
	maps.DeleteFunc(s.watches, func(_ job.ID, w *watch) bool { return !now.Before(w.until) })
	for worker := range s.commands {
		s.dropCommands(worker, now)
	}
	maps.DeleteFunc(s.workers, func(_ string, w job.WorkerInfo) bool { return now.Sub(w.Seen) > job.WorkerKept })
	maps.DeleteFunc(s.sessions, func(_ job.Session, held *session) bool { return now.Sub(held.until) > job.SessionKept })
	maps.DeleteFunc(s.crons, func(_ string, c *job.CronInfo) bool { return now.Sub(c.Noted) > job.CronKept })
	return job.Pruned{Deleted: deleted}, nil
}
