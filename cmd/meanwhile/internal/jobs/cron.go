package jobs

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// Crons is "meanwhile jobs crons".
type Crons struct{}

// Run lists the crons that workers have reported.
func (*Crons) Run(c *Command, streams probe.Streams) error {
	return c.use(false, func(ctx context.Context, s job.Store) error {
		crons, err := s.Crons(ctx)
		if err != nil {
			return err
		}
		var rows []row
		now := time.Now()
		for _, cron := range crons {
			if c.JSON {
				if err := writeJSON(streams.Out, cron); err != nil {
					return err
				}
				continue
			}
			last := ""
			if cron.Job != (job.ID{}) {
				last = ago(now.Sub(cron.Job.Time())) // Last may be when the cron was resumed
			}
			rows = append(rows, row{cells: []string{cron.Name, cron.Spec, activity(cron.Paused), last, nextTick(&cron, now)}})
		}
		return c.table(streams, rows, "No worker has reported a cron.", column{title: "CRON", least: 10}, column{title: "SPEC", least: 12},
			column{title: "STATE"}, column{title: "LAST", right: true}, column{title: "NEXT", right: true})
	})
}

// nextTick returns when a cron ticks next, or should have ticked.
func nextTick(c *job.CronInfo, now time.Time) string {
	switch {
	case c.Next.IsZero() || c.Paused:
		return ""
	case c.Next.Before(now):
		return "due " + ago(now.Sub(c.Next))
	}
	return in(c.Next.Sub(now))
}
