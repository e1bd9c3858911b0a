package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetLimits sets the limits of a queue.
func (s *Store) SetLimits(ctx context.Context, queue string, l job.Limits) error {
	what := "set limits of queue " + queue
	if err := job.CheckLimits(queue, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, func(t *txn) error {
		if _, err := t.exec(statement("queue_add"), queue); err != nil {
			return err
		}
		id, before, err := t.limits(queue)
		if err != nil {
			return err
		}
		var kept any
		if l != (job.Limits{}) {
			text, err := json.Marshal(l)
			if err != nil {
				return err
			}
			kept = string(text)
		}
		if _, err := t.exec(statement("limits_set"), queue, kept, flag(l.Starts != before.Limits.Starts), flag(l.Units != before.Limits.Units)); err != nil {
			return err
		}
		if l.EachKey.HoldOnDiscard != before.Limits.EachKey.HoldOnDiscard {
			if _, err := t.exec(statement("limits_release"), queue); err != nil {
				return err
			}
		}
		t.changed[queue] = true
		if _, err := t.exec(statement("limits_rates"), id, flag(l.EachKey.Starts != before.Limits.EachKey.Starts), flag(l.EachKey.Units != before.Limits.EachKey.Units)); err != nil {
			return err
		}
		return t.mark(id, nil)
	})
}

// Limits returns the limits of a queue, and how much of them is used.
func (s *Store) Limits(ctx context.Context, queue string, keys ...string) (uses []job.LimitUse, err error) {
	if err := job.CheckUses(keys); err != nil {
		return nil, fmt.Errorf("limits of queue %s: %w", queue, err)
	}
	err = s.read(ctx, "limits of queue "+queue, func(t *txn) error {
		id, q, err := t.limits(queue)
		if err != nil {
			return err
		}
		uses = make([]job.LimitUse, len(keys))
		for i, key := range keys {
			if uses[i], err = t.use(id, q, key); err != nil {
				return err
			}
		}
		return nil
	})
	return uses, err
}

// use reads how much of the limits of a queue is used by the queue and by one of its keys.
func (t *txn) use(queue int64, q *job.LaneQueue, key string) (use job.LimitUse, err error) {
	l, err := t.lane(queue, q, key)
	if err != nil {
		return use, err
	}
	if l.Running, err = t.laneRunning(queue, key); err != nil {
		return use, err
	}
	use = q.Use(l, timeOf(t.now))
	if key == "" || !q.Limits.EachKey.InOrder {
		return use, nil
	}
	row, err := one(t, statement("lane_first"), queue, key)
	if err == nil && row != nil {
		use.KeyFirst = idOf(row[2])
	}
	if err == nil {
		row, err = one(t, statement("lane_holder"), queue, key)
	}
	if err == nil && row != nil {
		use.KeyDiscarded = idOf(row[0])
	}
	return use, err
}

// limits reads the limits of a queue, which may not exist.
func (t *txn) limits(queue string) (int64, *job.LaneQueue, error) {
	row, err := one(t, statement("queue_find"), queue)
	if err != nil || row == nil {
		return 0, &job.LaneQueue{}, err
	}
	q, err := t.keptQueue(queue, row)
	return integer(row[0]), q, err
}

// micro returns the time of a rate as it is stored.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
