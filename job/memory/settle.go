package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Settle writes what became of jobs that worker holds.
func (s *Store) Settle(ctx context.Context, worker string, jobs ...*job.Job) ([]job.ID, error) {
	now, err := s.enter(ctx, "settle jobs")
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, j := range jobs {
		if j.State != job.Queued && j.State != job.Running && !j.State.Finished() {
			return nil, fmt.Errorf("settle job %v: a job cannot be stored in state %q", j.ID, j.State)
		}
	}
	var lost []job.ID
	for _, j := range jobs {
		e := s.jobs[j.ID]
		if e == nil || e.State != job.Running || e.Attempt != j.Attempt || e.Worker != worker {
			lost = append(lost, j.ID)
			continue
		}
		s.settle(e, j, now)
	}
	return lost, nil
}

func (s *Store) settle(e *entry, j *job.Job, now time.Time) {
	e.detail = j.EncodeDetail()
	if j.State == job.Running {
		return
	}
	s.unlink(e)
	switch {
	case j.State == job.Queued && e.CancelRequested:
		s.finish(e, job.Canceled, now)
	case j.State == job.Queued:
		s.requeue(e, j, now)
	default:
		s.finish(e, j.State, now)
	}
	s.link(e)
	if e.State == job.Queued {
		s.notify(e.Queue)
	}
}

// requeue makes an unlinked job queued, as the fields of j say.
func (s *Store) requeue(e *entry, j *job.Job, now time.Time) {
	e.State, e.Queue, e.Priority, e.Spared, e.MaxAttempts = job.Queued, j.Queue, j.Priority, j.Spared, j.MaxAttempts
	e.Finished, e.lease = time.Time{}, time.Time{}
	e.setDue(j, now)
}
