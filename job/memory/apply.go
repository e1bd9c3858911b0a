package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Apply applies an action to the newest jobs that match the filter.
func (s *Store) Apply(ctx context.Context, f job.Filter, action job.Action) (done job.ActionResult, err error) {
	now, err := s.enter(ctx, "change jobs")
	if err != nil {
		return done, err
	}
	defer s.mu.Unlock()
	if f.Limit <= 0 {
		return done, fmt.Errorf("change jobs: a limit of %d", f.Limit)
	}
	if err := action.Check(); err != nil {
		return done, fmt.Errorf("change jobs: %w", err)
	}
	found := s.find(f, now)
	for _, e := range found {
		switch {
		case !action.Suits(e.State):
			done.Skipped++
		case e.State.Finished() && action.To == job.Queued && !s.takeKey(e, now):
			done.Conflicts++
		default:
			s.apply(e, action, now)
			done.Changed++
		}
	}
	if len(found) == f.Limit {
		done.Next = found[len(found)-1].ID
	}
	return done, nil
}

// takeKey gives a finished job its unique key back, and returns false if another job holds the key.
func (s *Store) takeKey(e *entry, now time.Time) bool {
	if e.UniqueKey == "" {
		return true
	}
	if id, held := s.holder(e.UniqueKey, now); held && id != e.ID {
		return false
	}
	s.keys[e.UniqueKey] = hold{id: e.ID}
	return true
}

// apply applies an action to a job that is in a state that it applies to.
func (s *Store) apply(e *entry, action job.Action, now time.Time) {
	s.unlink(e)
	switch {
	case action.To == "":
		if id, held := s.holder(e.UniqueKey, now); held && id == e.ID {
			delete(s.keys, e.UniqueKey)
		}
		s.remove(e)
		return
	case e.State == job.Running:
		e.CancelRequested = true
	case action.To.Finished():
		s.finish(e, action.To, now)
	default:
		s.makeDue(e, action, now)
	}
	s.link(e)
	if e.State == job.Queued {
		s.notify(e.Queue)
	}
}

// makeDue queues an unlinked job, with the time and attempts of the action.
func (s *Store) makeDue(e *entry, action job.Action, now time.Time) {
	if e.State.Finished() {
		e.State, e.Finished = job.Queued, time.Time{}
		if action.Due {
			e.Uncounted = e.Attempt
			e.uncountReleases()
		}
	}
	if action.Queue != "" {
		e.Queue = action.Queue
	}
	if action.Priority != 0 {
		e.Priority = action.Priority
	}
	if action.Due {
		e.setDue(&job.Job{RunAt: action.RunAt}, now)
	}
}
