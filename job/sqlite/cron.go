package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/meanwhile-go/meanwhile/job"
)

// Tick enqueues a job for a time of a cron, or notes the cron if there is no job.
func (s *Store) Tick(ctx context.Context, tick job.Tick) (bool, error) {
	ticked := false
	err := s.write(ctx, "tick cron "+tick.Cron, func(t *txn) (err error) {
		ticked, err = t.tick(tick)
		return err
	})
	return ticked && err == nil, err
}

func (t *txn) tick(tick job.Tick) (bool, error) {
	if tick.Job == nil {
		last := micros(tick.At)
		if last == nil {
			last = t.now
		}
		_, err := t.exec(statement("cron_note"), tick.Cron, tick.Spec, micros(tick.Next), last, t.now)
		return false, err
	}
	if tick.At.IsZero() {
		return false, errors.New("a job without the time of the tick")
	}
	row, err := one(t, statement("cron_find"), tick.Cron)
	if err != nil {
		return false, err
	}
	if row != nil && (integer(row[1]) == 1 || row[0] != nil && integer(row[0]) >= tick.At.UnixMicro()) {
		_, err := t.exec(statement("cron_noted"), tick.Cron, t.now)
		return false, err
	}
	ids, err := t.insert([]*job.Job{tick.Job})
	if err != nil {
		return false, err
	}
	_, err = t.exec(statement("cron_tick"), tick.Cron, tick.Spec, micros(tick.Next), micros(tick.At), t.now, ids[0][:])
	return true, err
}

// Crons returns the crons that were ever noted, by name.
func (s *Store) Crons(ctx context.Context) ([]job.CronInfo, error) {
	var infos []job.CronInfo
	err := s.read(ctx, "list crons", func(t *txn) error {
		return t.each(statement("cron_list"), nil, func(v []driver.Value) error {
			infos = append(infos, job.CronInfo{
				Name: text(v[0]), Spec: text(v[1]), Last: timeOf(v[2]), Next: timeOf(v[3]), Paused: integer(v[4]) == 1,
				Job: idOf(v[5]), Noted: timeOf(v[6]),
			})
			return nil
		})
	})
	return infos, err
}

// PauseCron stops the ticks of a cron, or resumes them.
func (s *Store) PauseCron(ctx context.Context, name string, paused bool) error {
	return s.write(ctx, "pause or resume cron "+name, func(t *txn) error {
		changed, err := t.exec(statement("cron_pause"), name, flag(paused), t.now)
		if err == nil && changed == 0 {
			err = errors.New("no worker has reported it")
		}
		return err
	})
}
