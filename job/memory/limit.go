package memory

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetLimits sets the limits of a queue.
func (s *Store) SetLimits(ctx context.Context, name string, l job.Limits) error {
	what := "set limits of queue " + name
	if err := job.CheckLimits(name, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	now, err := s.enter(ctx, what)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	q := s.queue(name)
	if q.Limits.Starts != l.Starts {
		q.Full = now
	}
	if q.Limits.Units != l.Units {
		q.Paid = now
	}
	for _, lane := range q.lanes.byKey {
		q.lanes.touch(lane)
		if q.Limits.EachKey.Starts != l.EachKey.Starts {
			lane.Full = now
		}
		if q.Limits.EachKey.Units != l.EachKey.Units {
			lane.Paid = now
		}
	}
	q.Limits = l
	s.notify(name)
	s.dropIdle(name)
	return nil
}

// Limits returns the limits of a queue, and how far they are used.
func (s *Store) Limits(ctx context.Context, name, key string) (job.LimitUse, error) {
	now, err := s.enter(ctx, "limits of queue "+name)
	if err != nil {
		return job.LimitUse{}, err
	}
	defer s.mu.Unlock()
	q := s.queues[name]
	if q == nil {
		return job.LimitUse{Now: now}, nil
	}
	q.Running = q.running.Len()
	l := q.lanes.byKey[key]
	if l == nil {
		return q.Use(job.Lane{Key: key}, now), nil
	}
	use := q.Use(l.Lane, now)
	if first := l.ordered.first(); q.inOrder(l) && first != nil {
		use.KeyFirst = first.ID
	}
	return use, nil
}
