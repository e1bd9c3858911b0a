package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetKeyLimits sets limits of one key of a queue.
func (s *Store) SetKeyLimits(ctx context.Context, queue, key string, l job.KeyLimits) error {
	what := fmt.Sprintf("set limits of key %s of queue %s", key, queue)
	if err := job.CheckKeyLimits(queue, key, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var kept *string
	if l != (job.KeyLimits{}) {
		encoded, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		kept = text(string(encoded))
	}
	err := s.call(ctx, what, func(ctx context.Context) error {
		return s.inTx(ctx, func(r pgxRunner) error { return s.putOverride(ctx, r, queue, key, l, kept) })
	})
	if err == nil {
		s.laned.set(queue, true, true)
		s.notify([]string{queue})
	}
	return err
}

// putOverride writes the limits of a key; kept is their stored text, nil for none. Claims from the queue wait until the end of
// the transaction.
func (s *Store) putOverride(ctx context.Context, r pgxRunner, queue, key string, l job.KeyLimits, kept *string) error {
	var q job.LaneQueue
	var at time.Time
	if _, err := s.lockQueue(ctx, r, queue, &q, &at); err != nil {
		return err
	}
	found := []job.Lane{{Key: key}}
	if err := s.readKept(ctx, r, queue, found, false, false, true); err != nil {
		return err
	}
	before := found[0]
	more := 0
	switch had := before.Own != (job.KeyLimits{}); {
	case had && kept == nil:
		more = -1
	case !had && kept != nil && q.Overrides >= job.MaxOverrides:
		return job.ErrOverrides
	case !had && kept != nil:
		more = 1
	}
	was, is := q.Limits.OfKey(before.Own), q.Limits.OfKey(l)
	_, err := r.ids(ctx, s.sql("override_set"), queue, key, kept, more, was.Starts != is.Starts, was.Units != is.Units)
	return err
}

func decodeOverride(key string, text pgtype.Text, l *job.KeyLimits) error {
	if !text.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(text.String), l); err != nil {
		return fmt.Errorf("limits of key %s: %w", key, err)
	}
	return nil
}

// Overrides returns the limits of single keys of a queue.
func (s *Store) Overrides(ctx context.Context, queue, after string, n int) (found []job.Override, err error) {
	err = s.call(ctx, "limits of keys of queue "+queue, func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("override_list"), sought(queue), sought(after), max(n, 0))
		if err != nil {
			return err
		}
		found = nil
		var key string
		var limits pgtype.Text
		_, err = pgx.ForEachRow(rows, []any{&key, &limits}, func() error {
			o := job.Override{Key: key}
			if err := decodeOverride(key, limits, &o.KeyLimits); err != nil {
				return err
			}
			found = append(found, o)
			return nil
		})
		return err
	})
	return found, err
}
