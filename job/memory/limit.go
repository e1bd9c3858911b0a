package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
		q.change(lane, q.Limits.OfKey(lane.Own), l.OfKey(lane.Own), now)
	}
	if q.Limits.EachKey.HoldOnDiscard != l.EachKey.HoldOnDiscard {
		q.releaseAll()
	}
	q.Limits = l
	s.notify(name)
	s.dropIdle(name)
	return nil
}

// change resets those rates of a lane that have changed.
func (q *queue) change(l *lane, before, after job.KeyLimits, now time.Time) {
	q.lanes.touch(l)
	if before.Starts != after.Starts {
		l.Full = now
	}
	if before.Units != after.Units {
		l.Paid = now
	}
}

// SetKeyLimits sets limits of one key of a queue.
func (s *Store) SetKeyLimits(ctx context.Context, name, key string, l job.KeyLimits) error {
	what := fmt.Sprintf("set limits of key %s of queue %s", key, name)
	if err := job.CheckKeyLimits(name, key, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	now, err := s.enter(ctx, what)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	q := s.queue(name)
	if _, has := q.overrides[key]; !has && l != (job.KeyLimits{}) && q.Overrides >= job.MaxOverrides {
		return fmt.Errorf("%s: %w", what, job.ErrOverrides)
	}
	if delete(q.overrides, key); l != (job.KeyLimits{}) {
		if q.overrides == nil {
			q.overrides = map[string]job.KeyLimits{}
		}
		q.overrides[key] = l
	}
	q.Overrides = len(q.overrides)
	if lane := q.lanes.byKey[key]; lane != nil {
		q.change(lane, q.Limits.OfKey(lane.Own), q.Limits.OfKey(l), now)
		lane.Own = l
	}
	s.notify(name)
	s.dropIdle(name)
	return nil
}

// Overrides returns the limits of single keys of a queue.
func (s *Store) Overrides(ctx context.Context, name, after string, n int) ([]job.Override, error) {
	if _, err := s.enter(ctx, "limits of keys of queue "+name); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	q := s.queues[name]
	if q == nil {
		return nil, nil
	}
	var found []job.Override
	for _, key := range slices.Sorted(maps.Keys(q.overrides)) {
		if key > after && len(found) < n {
			found = append(found, job.Override{Key: key, KeyLimits: q.overrides[key]})
		}
	}
	return found, nil
}

// Limits returns the limits of a queue, and how much of them is used.
func (s *Store) Limits(ctx context.Context, name string, keys ...string) ([]job.LimitUse, error) {
	if err := job.CheckUses(keys); err != nil {
		return nil, fmt.Errorf("limits of queue %s: %w", name, err)
	}
	now, err := s.enter(ctx, "limits of queue "+name)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	uses := make([]job.LimitUse, len(keys))
	q := s.queues[name]
	for i, key := range keys {
		if q == nil {
			uses[i].Now = now
			continue
		}
		uses[i] = q.use(key, now)
	}
	return uses, nil
}

// use returns how much of the limits of the queue is used by the queue and by one of its keys.
func (q *queue) use(key string, now time.Time) job.LimitUse {
	q.Running = q.running.Len()
	l := q.lanes.byKey[key]
	if l == nil {
		l = &lane{Lane: job.Lane{Key: key, Own: q.overrides[key]}}
	}
	use := q.Use(l.Lane, now)
	if first := l.ordered.first(); q.inOrder(l) && first != nil {
		use.KeyFirst = first.ID
	}
	if holder := q.holder(l); holder != nil {
		use.KeyDiscarded = holder.ID
	}
	return use
}
