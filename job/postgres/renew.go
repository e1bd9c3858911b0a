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

// Renew extends the lease of a session, records that its worker is alive, and stores the rest of the report. A job that another transaction is
// writing does not count as lost: it may be a long transaction of the user's.
func (s *Store) Renew(ctx context.Context, r job.Renewal) (renewed job.Renewed, err error) {
	info := r.Info
	info.Name, info.Seen = "", time.Time{}
	text, err := json.Marshal(info)
	if err != nil {
		return renewed, fmt.Errorf("renew leases: %w", err)
	}
	args := []any{r.Worker, uuids(r.Jobs), interval(r.Lease), string(text)}
	stats, err := statArgs(r)
	if err != nil {
		return renewed, fmt.Errorf("renew leases: %w", err)
	}
	args = append(append(args, stats...), treeArgs(r.Trees)...)
	args = append(args, int64(r.Session), uuids(r.Drop), job.MostWatched, interval(job.CommandKept))
	err = s.call(ctx, "renew leases", func(ctx context.Context) (err error) {
		rows, err := s.run().query(ctx, s.sql("renew"), args...)
		if err != nil {
			return err
		}
		renewed, err = readRenewed(rows)
		return err
	})
	return renewed, err
}

// The kinds of rows in the answer.
const (
	replyLost = iota
	replyCanceled
	replyWatched
	replyCommand
	replyTime
)

func readRenewed(rows pgx.Rows) (renewed job.Renewed, err error) {
	var about int
	var id pgtype.UUID
	var seq pgtype.Int8
	var word pgtype.Text
	var now pgtype.Timestamptz
	_, err = pgx.ForEachRow(rows, []any{&about, &id, &seq, &word, &now}, func() error {
		switch about {
		case replyLost:
			renewed.Lost = append(renewed.Lost, id.Bytes)
		case replyCanceled:
			renewed.Canceled = append(renewed.Canceled, id.Bytes)
		case replyWatched:
			renewed.Watched = append(renewed.Watched, id.Bytes)
		case replyCommand:
			var o job.Command
			if err := json.Unmarshal([]byte(word.String), &o); err != nil {
				return fmt.Errorf("a command: %w", err)
			}
			renewed.Commands = append(renewed.Commands, o)
		case replyTime:
			renewed.Now = timeOf(now)
		}
		return nil
	})
	return renewed, err
}

// Leave removes the worker from the list of Workers, with the commands for it, and ends the session.
func (s *Store) Leave(ctx context.Context, worker string, session job.Session) error {
	return s.call(ctx, "remove worker "+worker, func(ctx context.Context) error {
		_, err := s.run().ids(ctx, s.sql("leave"), worker, int64(session))
		return err
	})
}

// Workers returns the workers that have called Renew and not Leave, by name: all, or those of the given names.
func (s *Store) Workers(ctx context.Context, names ...string) (infos []job.WorkerInfo, err error) {
	err = s.call(ctx, "list workers", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("workers"), soughtAll(names))
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
