package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Counts returns how many jobs there are by queue, kind and state.
func (s *Store) Counts(ctx context.Context) ([]job.Count, error) {
	var counts []job.Count
	err := s.read(ctx, "count jobs", func(t *txn) error {
		return t.each(statement("counts"), nil, func(v []driver.Value) error {
			counts = append(counts, job.Count{Queue: text(v[0]), Kind: text(v[1]), State: states[integer(v[2])], N: integer(v[3])})
			return nil
		})
	})
	return counts, err
}

// Queues returns every queue that has unfinished jobs or is paused, by name.
func (s *Store) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	var infos []job.QueueInfo
	err := s.read(ctx, "list queues", func(t *txn) error {
		return t.each(statement("queues"), []any{t.now}, func(v []driver.Value) error {
			info := job.QueueInfo{Name: text(v[0]), Paused: integer(v[1]) == 1, Queued: integer(v[2]), Running: integer(v[3])}
			if v[4] != nil {
				info.Wait = time.Duration(t.now-integer(v[4])) * time.Microsecond
			}
			infos = append(infos, info)
			return nil
		})
	})
	return infos, err
}

// Pause stops claims from a queue, or resumes them.
func (s *Store) Pause(ctx context.Context, queue string, paused bool) error {
	return s.write(ctx, "pause or resume queue "+queue, func(t *txn) error {
		if _, err := t.exec(statement("queue_add"), queue); err != nil {
			return err
		}
		_, err := t.exec(statement("queue_pause"), queue, flag(paused))
		if err != nil || paused {
			return err
		}
		t.changed[queue] = true
		if _, err := t.exec(statement("throttle_end"), queue); err != nil {
			return err
		}
		ended, err := t.exec(statement("throttle_end_lanes"), queue)
		if err != nil || ended == 0 {
			return err
		}
		id, _, err := t.limits(queue)
		if err != nil {
			return err
		}
		return t.mark(id, nil)
	})
}
