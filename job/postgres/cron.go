package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Tick enqueues a job for a time of a cron, or notes the cron if t has no job.
func (s *Store) Tick(ctx context.Context, t job.Tick) (ticked bool, err error) {
	var at *time.Time
	if !t.At.IsZero() {
		at = &t.At
	}
	err = s.call(ctx, "tick cron "+t.Cron, func(ctx context.Context) error {
		ticked = false
		if t.Job == nil {
			_, err := s.run().ids(ctx, s.sql("cron_note"), t.Cron, t.Spec, at, t.Next)
			return err
		}
		if at == nil {
			return errors.New("a job without the time of the tick")
		}
		return s.inTx(ctx, func(r pgxRunner) error {
			done, err := r.ids(ctx, s.sql("cron_tick"), t.Cron, t.Spec, at, t.Next, [16]byte(t.Job.ID))
			if err != nil || len(done) == 0 {
				return err
			}
			ids, err := insertBriefly(ctx, s, r, []*job.Job{t.Job})
			if err == nil && ids[0] != t.Job.ID {
				_, err = r.ids(ctx, s.sql("cron_held"), t.Cron, [16]byte(ids[0]))
			}
			ticked = err == nil
			return err
		})
	})
	if ticked {
		s.notify([]string{t.Job.Queue})
		s.wrote(ctx, 1)
	}
	return ticked, err
}

// Crons returns the crons that were ever noted, by name.
func (s *Store) Crons(ctx context.Context) (infos []job.CronInfo, err error) {
	err = s.call(ctx, "list crons", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("crons"))
		if err != nil {
			return err
		}
		infos = nil
		var c job.CronInfo
		var id pgtype.UUID
		_, err = pgx.ForEachRow(rows, []any{&c.Name, &c.Spec, &c.Last, &c.Next, &c.Paused, &id, &c.Noted}, func() error {
			info := c
			info.Last, info.Next, info.Noted, info.Job = c.Last.UTC(), c.Next.UTC(), c.Noted.UTC(), id.Bytes
			infos = append(infos, info)
			return nil
		})
		return err
	})
	return infos, err
}

// PauseCron stops the ticks of a cron, or resumes them.
func (s *Store) PauseCron(ctx context.Context, name string, paused bool) error {
	return s.call(ctx, "pause or resume cron "+name, func(ctx context.Context) error {
		found, err := s.run().ids(ctx, s.sql("cron_pause"), name, paused)
		if err == nil && len(found) == 0 {
			return errors.New("no worker has reported it")
		}
		return err
	})
}
