package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Tick enqueues a job for a time of a cron, or notes the cron if t has no job.
func (s *Store) Tick(ctx context.Context, t job.Tick) (bool, error) {
	now, err := s.enter(ctx, "tick cron "+t.Cron)
	if err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	if t.Job != nil && t.At.IsZero() {
		return false, fmt.Errorf("tick cron %s: a job without the time of the tick", t.Cron)
	}
	c := s.crons[t.Cron]
	if c == nil {
		c = &job.CronInfo{Name: t.Cron}
		s.crons[t.Cron] = c
	}
	c.Noted = now
	if t.Job == nil {
		c.Spec, c.Next = t.Spec, t.Next
		if c.Last.IsZero() {
			c.Last = t.At
			if t.At.IsZero() {
				c.Last = now
			}
		}
		return false, nil
	}
	if c.Paused || !c.Last.IsZero() && !c.Last.Before(t.At) {
		return false, nil
	}
	if s.jobs[t.Job.ID] != nil {
		return false, fmt.Errorf("tick cron %s: job %v is there already", t.Cron, t.Job.ID)
	}
	c.Spec, c.Last, c.Next, c.Job = t.Spec, t.At, t.Next, s.insert(t.Job, now)
	return true, nil
}

// Crons returns the crons that were ever noted, by name.
func (s *Store) Crons(ctx context.Context) ([]job.CronInfo, error) {
	if _, err := s.enter(ctx, "list crons"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	infos := make([]job.CronInfo, 0, len(s.crons))
	for _, c := range s.crons {
		infos = append(infos, *c)
	}
	slices.SortFunc(infos, func(a, b job.CronInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// PauseCron stops the ticks of a cron, or resumes them.
func (s *Store) PauseCron(ctx context.Context, name string, paused bool) error {
	now, err := s.enter(ctx, "pause or resume cron "+name)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	c := s.crons[name]
	if c == nil {
		return fmt.Errorf("pause or resume cron %s: no worker has reported it", name)
	}
	if c.Paused && !paused && c.Last.Before(now) {
		c.Last = now
	}
	c.Paused = paused
	return nil
}
