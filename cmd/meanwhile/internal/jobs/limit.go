package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/durationtext"
	"github.com/meanwhile-go/meanwhile/job"
)

// Limit is "meanwhile jobs limit".
type Limit struct {
	Queue string `arg:"" help:"Name of the queue."`

	Running          *int    `placeholder:"N" help:"Run up to N jobs of the queue at once; with --key, of the key."`
	Starts           *rate   `placeholder:"N/TIME" help:"Rate at which jobs of the queue start, such as 500/1m, evenly spaced; with --key, of the key. 500/1m/50 lets 50 start at once after a pause."`
	KeyRunning       *int    `placeholder:"N" help:"Run up to N jobs of each limit key at once."`
	KeyStarts        *rate   `placeholder:"N/TIME" help:"Rate at which jobs of each limit key start."`
	Units            *rate   `placeholder:"N/TIME" help:"Rate at which jobs of the queue may use units, by their cost, such as 90000/1m; with --key, those of the key. 90000/1m/5000 lets them use 5000 at once after a pause."`
	KeyUnits         *rate   `placeholder:"N/TIME" help:"Rate at which jobs of each limit key may use units."`
	KeyInOrder       *bool   `negatable:"" help:"Jobs of each limit key run one at a time, in the order in which they were enqueued."`
	KeyHoldOnDiscard *bool   `negatable:"" help:"With --key-in-order, a discarded job holds back those of its key that were enqueued after it, until it is retried or deleted."`
	KeyWeight        *int    `placeholder:"N" help:"Number of jobs of each limit key that start each time it is its turn."`
	Key              *string `placeholder:"KEY" help:"Show or change the limits of this limit key alone, which replace those of each key."`
	Weight           *int    `placeholder:"N" help:"With --key: number of jobs of the key that start each time it is its turn."`
	Keys             bool    `help:"List the limit keys that have limits of their own."`
	Remove           bool    `help:"Remove all limits of the queue; with --key, those of the key alone."`
}

// Help is the text above the flags.
func (*Limit) Help() string {
	return "Shows the limits of a queue, or changes the given ones; 0 removes one. Changes apply to all workers from their next claim."
}

// Run shows or sets the limits.
func (l *Limit) Run(c *Command, streams probe.Streams) error {
	ofEach := l.KeyRunning != nil || l.KeyStarts != nil || l.KeyUnits != nil || l.KeyWeight != nil
	change := ofEach || l.Running != nil || l.Starts != nil || l.Units != nil || l.KeyInOrder != nil || l.KeyHoldOnDiscard != nil || l.Weight != nil
	switch {
	case change && l.Remove:
		return usage("give either limits or --remove")
	case l.Keys && (change || l.Remove || l.Key != nil):
		return usage("--keys lists the limit keys that have limits of their own: give it alone, or --key KEY for one of them")
	case l.Key == nil && l.Weight != nil:
		return usage("--weight is that of one limit key: give --key KEY with it, or --key-weight for each key")
	case l.Key != nil && ofEach:
		return usage("with --key, give --running, --starts, --units and --weight: those that begin with --key- are of each key")
	}
	return c.use(false, func(ctx context.Context, s job.Store) error {
		switch change = change || l.Remove; {
		case l.Keys:
			return l.list(ctx, s, c, streams)
		case l.Key != nil:
			return l.ofKey(ctx, s, change, c.JSON, streams)
		}
		return l.ofQueue(ctx, s, change, c.JSON, streams)
	})
}

// ofQueue shows or sets the limits of the queue.
func (l *Limit) ofQueue(ctx context.Context, s job.Store, change, asJSON bool, streams probe.Streams) error {
	uses, err := s.Limits(ctx, l.Queue, "")
	if err != nil {
		return err
	}
	use := uses[0]
	if change {
		if use.Limits = l.changed(use.Limits); l.Remove {
			use.Limits = job.Limits{}
		}
		done := job.AuditEntry{Action: "set limits of queue", Target: l.Queue + " " + use.Limits.String(), Changed: 1}
		if err := recorded(ctx, s, streams, done, s.SetLimits(ctx, l.Queue, use.Limits)); err != nil {
			return err
		}
	}
	if asJSON {
		return writeJSON(streams.Out, use.Limits)
	}
	_, err = fmt.Fprint(streams.Out, describeLimits(l.Queue, use))
	return err
}

// recorded writes an action, or its failure, to the audit log, and returns its error.
func recorded(ctx context.Context, s job.Store, streams probe.Streams, done job.AuditEntry, err error) error {
	if err != nil {
		done.Changed = 0
	}
	record(ctx, s, streams, done, err)
	return err
}

// changed returns limits in which the given flags are set.
func (l *Limit) changed(to job.Limits) job.Limits {
	change(&to.Running, l.Running)
	changeRate(&to.Starts, l.Starts)
	changeRate(&to.Units, l.Units)
	change(&to.EachKey.Running, l.KeyRunning)
	changeRate(&to.EachKey.Starts, l.KeyStarts)
	changeRate(&to.EachKey.Units, l.KeyUnits)
	change(&to.EachKey.InOrder, l.KeyInOrder)
	change(&to.EachKey.HoldOnDiscard, l.KeyHoldOnDiscard)
	change(&to.EachKey.Weight, l.KeyWeight)
	return to
}

// change sets a value if it was given.
func change[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func changeRate(to *job.Rate, given *rate) {
	if given != nil {
		*to = job.Rate(*given)
	}
}

// most formats a maximum number of running jobs.
func most(n int) string {
	if n == 0 {
		return "no bound"
	}
	return probe.Number(n)
}

func describeLimits(queue string, use job.LimitUse) string {
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
	if use.EachKey.HoldOnDiscard {
		lines[5][1] += ", held by a discarded job"
	}
	if use.EachKey.Weight > 1 {
		lines = append(lines, [2]string{"  weight", probe.Number(use.EachKey.Weight)})
	}
	if use.Overrides > 0 {
		lines = append(lines, [2]string{"keys", probe.Number(use.Overrides) + " with limits of their own, which --keys lists"})
	}
	if use.QueueHeld > 0 {
		lines = append(lines, [2]string{"throttled", "starts again in " + durationtext.Short(use.QueueHeld)})
	}
	return inColumns(lines)
}

// inColumns formats names and values, one pair per line.
func inColumns(lines [][2]string) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-9s %s", line[0], line[1]), " "))
	}
	return b.String()
}

// A rate is a job.Rate as written on a command line: 500/1m, with a burst 500/1m/50, and 0 for no rate.
type rate job.Rate

// UnmarshalText parses a rate.
func (r *rate) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("%.40q is not a rate: give a number and a time, such as 500/1m, with an optional third part for how many may start at once, or 0 for no limit", text)
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
