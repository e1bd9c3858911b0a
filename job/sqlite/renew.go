package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// Renew extends the lease of a session, records that its worker is alive, and stores the rest of its report.
func (s *Store) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	info, err := json.Marshal(r.Info)
	if err != nil {
		return job.Renewed{}, fmt.Errorf("renew leases: %w", err)
	}
	var renewed job.Renewed
	err = s.writeUnsynced(ctx, "renew leases", func(t *txn) (err error) {
		if _, err := t.exec(statement("worker_note"), r.Worker, t.now, string(info)); err != nil {
			return err
		}
		if err := t.keepStats(r); err != nil {
			return err
		}
		if err := t.keepTrees(r); err != nil {
			return err
		}
		renewed, err = t.renew(r)
		return err
	})
	if err != nil {
		return job.Renewed{}, err
	}
	return renewed, nil
}

var renewHeld = repeated("renew_held")

func (t *txn) renew(r job.Renewal) (job.Renewed, error) {
	held := make(map[job.ID]bool, len(r.Jobs))
	if err := t.renewSession(r.Session, r.Worker, t.now+r.Lease.Microseconds()); err != nil {
		return job.Renewed{}, err
	}
	for _, id := range r.Drop {
		if _, err := t.exec(statement("renew_drop"), int64(r.Session), id[:]); err != nil {
			return job.Renewed{}, err
		}
	}
	err := renewHeld.chunks(len(r.Jobs), func(sql string, from, size int) error {
		args := append(make([]any, 0, 1+size), int64(r.Session))
		for i := range r.Jobs[from : from+size] {
			args = append(args, r.Jobs[from+i][:])
		}
		return t.each(sql, args, func(v []driver.Value) error {
			held[idOf(v[0])] = true
			return nil
		})
	})
	if err != nil {
		return job.Renewed{}, err
	}
	renewed := job.Renewed{Now: timeOf(t.now)}
	for _, id := range r.Jobs {
		if !held[id] {
			renewed.Lost = append(renewed.Lost, id)
		}
	}
	if err := t.addReplies(r, &renewed); err != nil {
		return job.Renewed{}, err
	}
	return renewed, nil
}

// The kinds of rows of renew_told.
const (
	replyCanceled = iota
	replyWatched
	replyCommand
)

// addReplies adds the canceled and watched jobs and the commands to the answer. Each command is returned once.
func (t *txn) addReplies(r job.Renewal, renewed *job.Renewed) error {
	args := []any{r.Worker, t.now, t.now - job.CommandKept.Microseconds(), int64(job.MostWatched), int64(r.Session)}
	err := t.each(statement("renew_told"), args, func(v []driver.Value) error {
		switch integer(v[0]) {
		case replyCanceled:
			renewed.Canceled = append(renewed.Canceled, idOf(v[1]))
		case replyWatched:
			renewed.Watched = append(renewed.Watched, idOf(v[1]))
		case replyCommand:
			var o job.Command
			if err := json.Unmarshal([]byte(text(v[3])), &o); err != nil {
				return fmt.Errorf("command to worker %s: %w", r.Worker, err)
			}
			renewed.Commands = append(renewed.Commands, o)
		}
		return nil
	})
	if err != nil || len(renewed.Commands) == 0 {
		return err
	}
	_, err = t.exec(statement("order_drop"), r.Worker)
	return err
}

// Leave removes the worker from the list of workers, with the commands for it, and ends the session.
func (s *Store) Leave(ctx context.Context, worker string, session job.Session) error {
	return s.write(ctx, "leave", func(t *txn) error {
		if _, err := t.exec(statement("session_end"), int64(session)); err != nil {
			return err
		}
		if _, err := t.exec(statement("order_drop"), worker); err != nil {
			return err
		}
		_, err := t.exec(statement("worker_leave"), worker)
		return err
	})
}

// Workers returns the workers that have called Renew and not Leave, by name: all, or those of the given names.
func (s *Store) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	var infos []job.WorkerInfo
	err := s.read(ctx, "list workers", func(t *txn) error {
		return t.each(statement("worker_list"), []any{jsonOf(names)}, func(v []driver.Value) error {
			var info job.WorkerInfo
			if err := json.Unmarshal([]byte(text(v[2])), &info); err != nil {
				return fmt.Errorf("worker %s: %w", text(v[0]), err)
			}
			info.Name, info.Seen = text(v[0]), timeOf(v[1])
			infos = append(infos, info)
			return nil
		})
	})
	return infos, err
}
