package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Settle writes the outcomes of jobs that the session holds.
func (s *Store) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	now, err := s.enter(ctx, "settle jobs")
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var lost []job.ID
	for _, o := range outcomes {
		if j := o.Job; j.State != job.Queued && j.State != job.Running && !j.State.Finished() {
			return nil, fmt.Errorf("settle job %v: a job cannot be stored in state %q", j.ID, j.State)
		} else if s.held(session, j) == nil {
			lost = append(lost, j.ID)
		}
	}
	then, err := job.FollowUps(outcomes, lost)
	if err == nil {
		err = s.checkNew(then)
	}
	if err != nil {
		return nil, fmt.Errorf("settle jobs: %w", err)
	}
	for _, o := range outcomes {
		if e := s.held(session, o.Job); e != nil {
			if o.Throttle > 0 {
				s.throttle(e, now.Add(o.Throttle))
			}
			if o.Units != 0 {
				s.book(e, o.Units, now)
			}
			s.settle(e, o.Job, now)
		}
	}
	for _, j := range then {
		s.insert(j, now)
	}
	return lost, nil
}

// held returns the entry of a job if the session holds it in this attempt, unless it is to be queued again although it is to be canceled.
func (s *Store) held(session job.Session, j *job.Job) *entry {
	e := s.jobs[j.ID]
	if e == nil || e.State != job.Running || e.Attempt != j.Attempt || e.session != session || j.State == job.Queued && e.CancelRequested {
		return nil
	}
	return e
}

func (s *Store) settle(e *entry, j *job.Job, now time.Time) {
	e.detail = j.EncodeDetail()
	if j.State == job.Running {
		return
	}
	s.unlink(e)
	switch {
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

// throttle throttles the lane of a running job, or its queue if the job has no key.
func (s *Store) throttle(e *entry, until time.Time) {
	q := s.queue(e.Queue)
	held := &q.Held
	if e.LimitKey != "" {
		held = &q.lane(e.LimitKey).Held
	}
	if until.After(*held) {
		*held = until
	}
	if until.After(q.throttled) {
		q.throttled = until
	}
}

// book charges units of a running job.
func (s *Store) book(e *entry, units int, now time.Time) {
	q := s.queue(e.Queue)
	l := q.lanes.byKey[e.LimitKey]
	if q.Book(&l.Lane, units, now); q.Limits.OfKey(l.Own).Units.N > 0 {
		q.lanes.touch(l)
	}
}

// requeue queues an unlinked job again, with the fields of j.
func (s *Store) requeue(e *entry, j *job.Job, now time.Time) {
	e.State, e.Queue, e.Priority, e.Uncounted, e.MaxAttempts = job.Queued, j.Queue, j.Priority, j.Uncounted, j.MaxAttempts
	e.Finished = time.Time{}
	e.setDue(j, now)
}
