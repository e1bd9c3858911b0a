package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// Renew sets the leases of a worker's jobs and notes it as alive. A job that is just being written by somebody else is left
// as it is, neither renewed nor lost: it may be part of a transaction of a user's that takes long.
func (s *Store) Renew(ctx context.Context, r job.Renewal) (renewed job.Renewed, err error) {
	info := r.Info
	info.Name, info.Seen = "", time.Time{}
	text, err := json.Marshal(info)
	if err != nil {
		return renewed, fmt.Errorf("renew leases: %w", err)
	}
	err = s.call(ctx, "renew leases", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("renew"), r.Worker, uuids(r.Jobs), interval(r.Lease), string(text))
		if err != nil {
			return err
		}
		renewed = job.Renewed{}
		var id [16]byte
		var lost bool
		_, err = pgx.ForEachRow(rows, []any{&id, &lost}, func() error {
			if lost {
				renewed.Lost = append(renewed.Lost, id)
			} else {
				renewed.Canceled = append(renewed.Canceled, id)
			}
			return nil
		})
		return err
	})
	return renewed, err
}

// Leave removes the worker from the list of Workers.
func (s *Store) Leave(ctx context.Context, worker string) error {
	return s.call(ctx, "remove worker "+worker, func(ctx context.Context) error {
		_, err := s.run().ids(ctx, s.sql("leave"), worker)
		return err
	})
}

// Workers returns the workers that have called Renew and not Leave, by name.
func (s *Store) Workers(ctx context.Context) (infos []job.WorkerInfo, err error) {
	err = s.call(ctx, "list workers", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("workers"))
		if err != nil {
			return err
		}
		infos = nil
		var name, text string
		var seen time.Time
		_, err = pgx.ForEachRow(rows, []any{&name, &text, &seen}, func() error {
			var info job.WorkerInfo
			if err := json.Unmarshal([]byte(text), &info); err != nil {
				return fmt.Errorf("info of worker %s: %w", name, err)
			}
			info.Name, info.Seen = name, seen.UTC()
			infos = append(infos, info)
			return nil
		})
		return err
	})
	return infos, err
}
