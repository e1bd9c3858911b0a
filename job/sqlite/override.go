package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetKeyLimits sets limits of one key of a queue.
func (s *Store) SetKeyLimits(ctx context.Context, queue, key string, l job.KeyLimits) error {
	what := fmt.Sprintf("set limits of key %s of queue %s", key, queue)
	if err := job.CheckKeyLimits(queue, key, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, func(t *txn) error {
		if _, err := t.exec(statement("queue_add"), queue); err != nil {
			return err
		}
		id, q, err := t.limits(queue)
		if err != nil {
			return err
		}
		before, err := t.override(id, q, key)
		if err != nil {
			return err
		}
		if err := t.putOverride(id, q, key, before, l); err != nil {
			return err
		}
		t.changed[queue] = true
		was, is := q.Limits.OfKey(before), q.Limits.OfKey(l)
		if _, err = t.exec(statement("override_rates"), id, key, flag(was.Starts != is.Starts), flag(was.Units != is.Units)); err != nil {
			return err
		}
		return t.mark(id, key)
	})
}

// putOverride replaces the limits of a key; before and l may be zero.
func (t *txn) putOverride(queue int64, q *job.LaneQueue, key string, before, l job.KeyLimits) error {
	none := job.KeyLimits{}
	if l == none {
		if before == none {
			return nil
		}
		if _, err := t.exec(statement("override_drop"), queue, key); err != nil {
			return err
		}
		_, err := t.exec(statement("override_count"), queue, int64(-1))
		return err
	}
	encoded, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if before == none {
		if q.Overrides >= job.MaxOverrides {
			return job.ErrOverrides
		}
		if _, err := t.exec(statement("override_count"), queue, int64(1)); err != nil {
			return err
		}
	}
	_, err = t.exec(statement("override_put"), queue, key, string(encoded))
	return err
}

// override reads the limits of a key of a queue, zero if it has none of its own.
func (t *txn) override(queue int64, q *job.LaneQueue, key string) (own job.KeyLimits, err error) {
	if q.Overrides == 0 || key == "" {
		return own, nil
	}
	row, err := one(t, statement("override_find"), queue, key)
	if err == nil && row != nil {
		err = decodeOverride(key, row[0], &own)
	}
	return own, err
}

func decodeOverride(key string, v driver.Value, l *job.KeyLimits) error {
	if err := json.Unmarshal([]byte(text(v)), l); err != nil {
		return fmt.Errorf("limits of key %s: %w", key, err)
	}
	return nil
}

// Overrides returns the limits of single keys of a queue.
func (s *Store) Overrides(ctx context.Context, queue, after string, n int) (found []job.Override, err error) {
	err = s.read(ctx, "limits of keys of queue "+queue, func(t *txn) error {
		found = nil
		return t.each(statement("override_list"), []any{queue, after, int64(max(n, 0))}, func(v []driver.Value) error {
			o := job.Override{Key: text(v[0])}
			if err := decodeOverride(o.Key, v[1], &o.KeyLimits); err != nil {
				return err
			}
			found = append(found, o)
			return nil
		})
	})
	return found, err
}
