package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Change lets decide say what is to happen to each of the jobs.
func (s *Store) Change(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
	now, err := s.enter(ctx, "change jobs")
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	type change struct {
		*entry
		to       *job.Job
		decision job.Decision
	}
	changes := make([]change, 0, len(ids))
	seen := make(map[job.ID]bool, len(ids))
	for _, id := range ids {
		e := s.jobs[id]
		if e == nil || seen[id] {
			continue
		}
		seen[id] = true
		to := e.copyOut()
		decision := decide(to)
		if decision == job.Write && (e.State == job.Running) != (to.State == job.Running) {
			return nil, fmt.Errorf("change job %v from %s to %s: only Claim and Settle do that", id, e.State, to.State)
		}
		changes = append(changes, change{e, to, decision})
	}
	var conflicts []job.ID
	for _, c := range changes {
		switch c.decision {
		case job.Write:
			if !s.write(c.entry, c.to, now) {
				conflicts = append(conflicts, c.ID)
			}
		case job.Remove:
			s.unlink(c.entry)
			if id, held := s.holder(c.UniqueKey, now); held && id == c.ID {
				delete(s.keys, c.UniqueKey)
			}
			s.remove(c.entry)
		}
	}
	return conflicts, nil
}

// write writes a job as it was decided, and reports false when its unique key is taken.
func (s *Store) write(e *entry, j *job.Job, now time.Time) bool {
	if e.State.Finished() && j.State == job.Queued && e.UniqueKey != "" {
		if id, held := s.holder(e.UniqueKey, now); held && id != e.ID {
			return false
		}
		s.keys[e.UniqueKey] = hold{id: e.ID}
	}
	s.unlink(e)
	switch {
	case e.State == job.Running:
		e.CancelRequested = j.CancelRequested
	case j.State == job.Queued:
		e.detail, e.CancelRequested = j.EncodeDetail(), j.CancelRequested
		s.requeue(e, j, now)
	default:
		e.detail = j.EncodeDetail()
		e.Queue, e.Priority, e.Spared, e.MaxAttempts = j.Queue, j.Priority, j.Spared, j.MaxAttempts
		e.setDue(j, now)
		if e.State.Finished() {
			e.State = j.State
		} else {
			s.finish(e, j.State, now)
		}
	}
	s.link(e)
	if e.State == job.Queued {
		s.notify(e.Queue)
	}
	return true
}
