package jobs

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// Queues is "meanwhile jobs queues".
type Queues struct{}

// Run lists the queues that have unfinished jobs or are paused.
func (*Queues) Run(c *Command, streams probe.Streams) error {
	return c.use(false, func(ctx context.Context, s job.Store) error {
		queues, err := s.Queues(ctx)
		if err != nil {
			return err
		}
		var rows []row
		for _, q := range queues {
			if c.JSON {
				if err := writeJSON(streams.Out, q); err != nil {
					return err
				}
				continue
			}
			wait := ""
			if q.Wait > 0 {
				wait = probe.Span(q.Wait)
			}
			rows = append(rows, row{cells: []string{q.Name, activity(q.Paused), probe.Number(int(q.Queued)), probe.Number(int(q.Running)), wait}})
		}
		return c.table(streams, rows, "No queue has unfinished jobs.", column{title: "QUEUE", least: 10}, column{title: "STATE"},
			column{title: "QUEUED", right: true}, column{title: "RUNNING", right: true}, column{title: "WAIT", right: true})
	})
}

// table writes a table, or a message if there are no rows. With --json it writes nothing, since the rows have been written.
func (c *Command) table(streams probe.Streams, rows []row, none string, columns ...column) error {
	switch {
	case c.JSON:
		return nil
	case len(rows) == 0:
		fmt.Fprintln(streams.Err, none)
		return nil
	}
	if err := newTable(streams.Out, columns...).write(rows); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

func activity(paused bool) string {
	if paused {
		return "paused"
	}
	return "active"
}

type (
	// Pause is "meanwhile jobs pause".
	Pause struct{ pausing }
	// Resume is "meanwhile jobs resume".
	Resume struct{ pausing }
)

type pausing struct {
	Queues []string `arg:"" optional:"" name:"queue" help:"Names of queues."`
	Cron   []string `placeholder:"NAME" help:"Name of a cron. Repeatable."`
}

// Run pauses.
func (p *Pause) Run(c *Command, streams probe.Streams) error { return p.set(c, streams, true) }

// Help is the text above the flags.
func (*Pause) Help() string {
	return "Workers claim no jobs of a paused queue; running jobs continue. A queue can be paused before it has jobs. A paused cron enqueues nothing."
}

// Run resumes.
func (p *Resume) Run(c *Command, streams probe.Streams) error { return p.set(c, streams, false) }

func (p *pausing) set(c *Command, streams probe.Streams, paused bool) error {
	if len(p.Queues)+len(p.Cron) == 0 {
		return usage("give the name of a queue, or --cron with that of a cron")
	}
	for _, name := range p.Queues {
		if err := job.ActionMove(name).Check(); err != nil { // a name is valid for a queue if jobs can be moved to it
			return &probe.UsageError{Err: err}
		}
	}
	verb, done := "resume", "resumed"
	if paused {
		verb, done = "pause", "paused"
	}
	say := func(what, name string) error {
		if c.JSON {
			return writeJSON(streams.Out, map[string]any{what: name, "paused": paused})
		}
		_, err := fmt.Fprintf(streams.Out, "%s %s %s\n", what, probe.Printable(name), done)
		return err
	}
	return c.use(false, func(ctx context.Context, s job.Store) error {
		for _, name := range p.Queues {
			err := s.Pause(ctx, name, paused)
			record(ctx, s, streams, job.AuditEntry{Action: verb + " queue", Target: name, Changed: 1}, err)
			if err != nil {
				return err
			}
			if err := say("queue", name); err != nil {
				return err
			}
		}
		for _, name := range p.Cron {
			if err := s.PauseCron(ctx, name, paused); err != nil {
				return err
			}
			record(ctx, s, streams, job.AuditEntry{Action: verb + " cron", Target: name, Changed: 1}, nil)
			if err := say("cron", name); err != nil {
				return err
			}
		}
		return nil
	})
}
