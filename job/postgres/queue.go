package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Queues returns every queue that has unfinished jobs or is paused, by name.
func (s *Store) Queues(ctx context.Context) (infos []job.QueueInfo, err error) {
	err = s.call(ctx, "list queues", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("queues"))
		if err != nil {
			return err
		}
		infos = nil
		var q job.QueueInfo
		var wait pgtype.Interval
		_, err = pgx.ForEachRow(rows, []any{&q.Name, &q.Paused, &q.Queued, &q.Running, &wait}, func() error {
			q.Wait = max(duration(wait), 0)
			infos = append(infos, q)
			return nil
		})
		return err
	})
	return infos, err
}

// Pause stops claims from a queue, or resumes them.
func (s *Store) Pause(ctx context.Context, queue string, paused bool) error {
	err := s.call(ctx, "pause or resume queue "+queue, func(ctx context.Context) error {
		if paused {
			_, err := s.run().ids(ctx, s.sql("pause"), queue, paused)
			return err
		}
		return s.inTx(ctx, func(r pgxRunner) error {
			if _, err := r.ids(ctx, s.sql("pause"), queue, paused); err != nil {
				return err
			}
			_, err := r.ids(ctx, s.sql("throttle_end"), queue)
			return err
		})
	})
	if err == nil && !paused {
		s.notify([]string{queue})
	}
	return err
}
