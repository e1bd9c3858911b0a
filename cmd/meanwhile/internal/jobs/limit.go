package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// Limit is "meanwhile jobs limit".
type Limit struct {
	Queue string `arg:"" help:"Name of the queue."`

	Running    *int  `placeholder:"N" help:"At most so many jobs of the queue run at once."`
	Starts     *rate `placeholder:"N/TIME" help:"So fast do jobs of the queue start, such as 500/1m, evenly; 500/1m/50 lets 50 start at once after a pause."`
	KeyRunning *int  `placeholder:"N" help:"At most so many jobs of each limit key run at once."`
	KeyStarts  *rate `placeholder:"N/TIME" help:"So fast do jobs of each limit key start."`
	Units      *rate `placeholder:"N/TIME" help:"So many units may jobs of the queue use, such as 90000/1m, by their cost; 90000/1m/5000 lets them use 5000 at once after a pause."`
	KeyUnits   *rate `placeholder:"N/TIME" help:"So many units may jobs of each limit key use."`
	KeyInOrder *bool `negatable:"" help:"Jobs of each limit key run one at a time, in the order in which they were enqueued."`
	Remove     bool  `help:"Remove all limits of the queue."`
}

// Help is the text above the flags.
func (*Limit) Help() string {
	return "Shows the limits of a queue, or changes those that are given; 0 removes one. They hold for all workers, from their next claim on."
}

// Run shows or sets the limits.
func (l *Limit) Run(c *Command, streams probe.Streams) error {
	change := l.Running != nil || l.Starts != nil || l.KeyRunning != nil || l.KeyStarts != nil || l.Units != nil || l.KeyUnits != nil || l.KeyInOrder != nil
	if change && l.Remove {
		return usage("give either limits or --remove")
	}
	return c.use(false, func(ctx context.Context, s job.Store) error {
		use, err := s.Limits(ctx, l.Queue, "")
		if err != nil {
			return err
		}
		if change || l.Remove {
			if use.Limits = l.changed(use.Limits); l.Remove {
				use.Limits = job.Limits{}
			}
			done := job.AuditEntry{Action: "set limits of queue", Target: l.Queue + " " + use.Limits.String(), Changed: 1}
			err := s.SetLimits(ctx, l.Queue, use.Limits)
			if err != nil {
				done.Changed = 0
			}
			if record(ctx, s, streams, done, err); err != nil {
				return err
			}
		}
		if c.JSON {
			return writeJSON(streams.Out, use.Limits)
		}
		_, err = fmt.Fprint(streams.Out, describeLimits(l.Queue, use))
		return err
	})
}

// changed returns the limits with those that were given.
func (l *Limit) changed(to job.Limits) job.Limits {
	if l.Running != nil {
		to.Running = *l.Running
	}
	if l.Starts != nil {
		to.Starts = job.Rate(*l.Starts)
	}
	if l.Units != nil {
		to.Units = job.Rate(*l.Units)
	}
	if l.KeyUnits != nil {
		to.EachKey.Units = job.Rate(*l.KeyUnits)
	}
	if l.KeyRunning != nil {
		to.EachKey.Running = *l.KeyRunning
	}
	if l.KeyStarts != nil {
		to.EachKey.Starts = job.Rate(*l.KeyStarts)
	}
	if l.KeyInOrder != nil {
		to.EachKey.InOrder = *l.KeyInOrder
	}
	return to
}

func describeLimits(queue string, use job.LimitUse) string {
	most := func(n int) string {
		if n == 0 {
			return "no bound"
		}
		return probe.Number(n)
	}
	var b strings.Builder
	lines := [][2]string{
		{"queue", probe.Printable(queue)},
		{"running", most(use.Running) + ", " + probe.Number(use.QueueRunning) + " run"},
		{"starts", use.Starts.String()},
		{"units", use.Units.String()},
		{"each key", ""},
		{"  running", most(use.EachKey.Running)},
		{"  starts", use.EachKey.Starts.String()},
		{"  units", use.EachKey.Units.String()},
	}
	if use.EachKey.InOrder {
		lines[5][1] = "1, in order"
	}
	if use.QueueHeld > 0 {
		lines = append(lines, [2]string{"throttled", "starts again in " + use.QueueHeld.Round(time.Millisecond).String()})
	}
	for _, line := range lines {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-9s %s", line[0], line[1]), " "))
	}
	return b.String()
}

// A rate is job.Rate as it is written on a command line: 500/1m, with a burst 500/1m/50, and 0 for none.
type rate job.Rate

// UnmarshalText reads a rate.
func (r *rate) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("%.40q is no rate: give a number and a time, such as 500/1m, with a third part for how many may start at once, or 0 for no bound", text)
	parts := strings.Split(string(text), "/")
	n, err := strconv.Atoi(parts[0])
	switch {
	case err != nil || len(parts) > 3:
		return wrong
	case len(parts) == 1 && n == 0:
		*r = rate{}
		return nil
	case len(parts) == 1:
		return wrong
	}
	got := rate{N: n}
	if got.Per, err = time.ParseDuration(parts[1]); err != nil {
		return wrong
	}
	if len(parts) == 3 {
		if got.Burst, err = strconv.Atoi(parts[2]); err != nil {
			return wrong
		}
	}
	*r = got
	return nil
}
