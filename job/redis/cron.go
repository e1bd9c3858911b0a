package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Tick enqueues a job for a time of a cron, or notes the cron if t has no job.
func (s *Store) Tick(ctx context.Context, t job.Tick) (bool, error) {
	ticked := false
	err := s.call(ctx, "tick cron "+t.Cron, func(ctx context.Context) error {
		args := []string{t.Cron, t.Spec, micros(t.At), micros(t.Next)}
		if t.Job != nil && t.At.IsZero() {
			return errors.New("a job without the time of the tick")
		}
		if t.Job != nil {
			args = append(args, newArg(t.Job))
		}
		got, err := s.run(ctx, tickScript, args...)
		switch {
		case err != nil:
			return err
		case text(got[0]) == "there":
			return thereError(idOf(text(got[1])))
		}
		ticked = number(got[1]) == 1
		return nil
	})
	return ticked, err
}

// Crons returns the crons that were ever noted, by name.
func (s *Store) Crons(ctx context.Context) ([]job.CronInfo, error) {
	infos := []job.CronInfo{}
	err := s.call(ctx, "list crons", func(ctx context.Context) error {
		rows, err := s.run(ctx, cronsScript)
		if err != nil {
			return err
		}
		for i := range rows {
			infos = append(infos, cronOf(texts(rows[i])))
		}
		slices.SortFunc(infos, func(a, b job.CronInfo) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// cronOf returns a cron from alternating names and values of its fields.
func cronOf(fields []string) (c job.CronInfo) {
	for i := 0; i+1 < len(fields); i += 2 {
		switch v := fields[i+1]; fields[i] {
		case "name":
			c.Name = v
		case "spec":
			c.Spec = v
		case "last":
			c.Last = timeOf(v)
		case "next":
			c.Next = timeOf(v)
		case "paused":
			c.Paused = true
		case "job":
			c.Job = idOf(v)
		case "noted":
			c.Noted = timeOf(v)
		}
	}
	return c
}

// PauseCron stops the ticks of a cron, or resumes them.
func (s *Store) PauseCron(ctx context.Context, name string, paused bool) error {
	return s.call(ctx, "pause or resume cron "+name, func(ctx context.Context) error {
		m, err := s.runOne(ctx, cronPauseScript, name, flag(paused))
		if err == nil && number(m) == 0 {
			err = errors.New("no worker has reported it")
		}
		return err
	})
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return ""
}
