package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/durationtext"
	"github.com/meanwhile-go/meanwhile/job"
)

// List is "meanwhile jobs list".
type List struct {
	Filter
	Limit *int `placeholder:"N" help:"List up to N jobs, the newest; 0 is all of them (default 50, with --json all)."`
}

const (
	defaultListed = 50
	tablePart     = 500 // rows that are buffered
)

// Run lists the jobs.
func (l *List) Run(c *Command, streams probe.Streams) error {
	filter, err := l.filter()
	if err != nil {
		return err
	}
	limit := 0
	switch {
	case l.Limit != nil && *l.Limit < 0:
		return usage("--limit: give no negative number")
	case l.Limit != nil:
		limit = *l.Limit
	case !c.JSON:
		limit = defaultListed
	}
	return c.use(false, func(ctx context.Context, s job.Store) error {
		if limit > 0 {
			filter.Limit = limit + 1 // one more, to know whether there are more
		}
		more := false
		t := newTable(streams.Out, column{title: "ID"}, column{title: "STATE"}, column{title: "KIND", least: 8},
			column{title: "QUEUE", least: 6}, column{title: "WHEN", right: true})
		var rows []row
		listed := 0
		for j, err := range job.List(ctx, s, filter) {
			if err != nil {
				return err
			}
			if listed++; limit > 0 && listed > limit {
				more = true
				break
			}
			if c.JSON {
				if err := writeJSON(streams.Out, j); err != nil {
					return err
				}
				continue
			}
			if rows = append(rows, listRow(j, time.Now())); len(rows) == tablePart {
				if err := t.write(rows); err != nil {
					return fmt.Errorf("write the list: %w", err)
				}
				rows = rows[:0]
			}
		}
		if len(rows) > 0 {
			if err := t.write(rows); err != nil {
				return fmt.Errorf("write the list: %w", err)
			}
		}
		switch {
		case listed == 0:
			fmt.Fprintln(streams.Err, "No jobs match.")
		case more:
			fmt.Fprintf(streams.Err, "There are more; --limit 0 lists all.\n")
		}
		return nil
	})
}

// listRow formats a job as a line, with its last failure in a second line.
func listRow(j *job.Job, now time.Time) row {
	r := row{cells: []string{j.ID.String(), string(j.View(now)), j.Kind, j.Queue, stateTime(j, now)}}
	if text := j.LastError(); text != "" && j.State != job.Completed {
		r.below = text
		if j.Used() > 0 {
			r.below = fmt.Sprintf("attempt %d of %d: %s", j.Used(), j.MaxAttempts, text)
		}
	}
	return r
}

// stateTime returns when a job entered its state, or when it is due.
func stateTime(j *job.Job, now time.Time) string {
	since := j.RunAt
	switch {
	case j.State.Finished():
		since = j.Finished
	case j.State == job.Running:
		since = j.Started
	case j.RunAt.After(now):
		return in(j.RunAt.Sub(now).Round(time.Second))
	}
	return ago(coarse(now.Sub(since)))
}

// coarse drops all but the largest unit of an age, so that a usual job fits a line of 80 columns.
func coarse(age time.Duration) time.Duration {
	switch {
	case age >= 100*time.Hour:
		return age.Truncate(24 * time.Hour)
	case age >= time.Hour:
		return age.Truncate(time.Hour)
	case age >= time.Minute:
		return age.Truncate(time.Minute)
	}
	return age.Truncate(time.Second)
}

// in formats the time until something happens.
func in(d time.Duration) string { return "in " + durationtext.Short(d) }

// ago formats the time since something happened.
func ago(d time.Duration) string { return durationtext.Short(max(d, 0)) + " ago" }
