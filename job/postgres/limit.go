package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetLimits sets the limits of a queue.
func (s *Store) SetLimits(ctx context.Context, queue string, l job.Limits) error {
	what := "set limits of queue " + queue
	if err := job.CheckLimits(queue, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var kept *string
	if l != (job.Limits{}) {
		encoded, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		kept = text(string(encoded))
	}
	var before job.LaneQueue
	err := s.call(ctx, what, func(ctx context.Context) error {
		return s.inTx(ctx, func(r pgxRunner) error {
			if _, err := r.ids(ctx, s.sql("limits_lock")); err != nil {
				return err
			}
			before = job.LaneQueue{}
			var at time.Time
			if _, err := s.lockQueue(ctx, r, queue, &before, &at); err != nil {
				return err
			}
			_, err := r.ids(ctx, s.sql("limits_set"), queue, kept, l.Starts != before.Limits.Starts, l.EachKey.Starts != before.Limits.EachKey.Starts,
				l.Units != before.Limits.Units, l.EachKey.Units != before.Limits.EachKey.Units,
				l.EachKey.HoldOnDiscard != before.Limits.EachKey.HoldOnDiscard)
			return err
		})
	})
	if err == nil {
		s.laned.set(queue, true, kept != nil || before.Overrides > 0)
		s.notify([]string{queue})
	}
	return err
}

// Limits returns the limits of a queue, and how much of them is used.
func (s *Store) Limits(ctx context.Context, queue string, keys ...string) (uses []job.LimitUse, err error) {
	if err := job.CheckUses(keys); err != nil {
		return nil, fmt.Errorf("limits of queue %s: %w", queue, err)
	}
	err = s.call(ctx, "limits of queue "+queue, func(ctx context.Context) error {
		uses = make([]job.LimitUse, 0, len(keys))
		var key string
		var running, keyRunning int
		var limits, own pgtype.Text
		var overrides pgtype.Int4
		var full, held, paid, laneFull, laneHeld, lanePaid pgtype.Timestamptz
		var first, holder pgtype.UUID
		var now time.Time
		to := []any{&key, &limits, &overrides, &own, &full, &held, &paid, &laneFull, &laneHeld, &lanePaid, &running, &keyRunning, &first, &holder, &now}
		return s.run().each(ctx, s.sql("limits"), []any{sought(queue), soughtAll(keys)}, to, func() error {
			q := job.LaneQueue{Running: running, Full: timeOf(full), Held: timeOf(held), Paid: timeOf(paid), Overrides: int(overrides.Int32)}
			if err := decodeLimits(queue, limits, &q.Limits); err != nil {
				return err
			}
			l := job.Lane{Key: key, Running: keyRunning, Full: timeOf(laneFull), Held: timeOf(laneHeld), Paid: timeOf(lanePaid)}
			if err := decodeOverride(key, own, &l.Own); err != nil {
				return err
			}
			use := q.Use(l, now.UTC())
			if use.EachKey.InOrder {
				use.KeyFirst, use.KeyDiscarded = first.Bytes, holder.Bytes
			}
			uses = append(uses, use)
			return nil
		})
	})
	return uses, err
}
