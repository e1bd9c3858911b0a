package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/when"
	"github.com/meanwhile-go/meanwhile/job"
)

// An Action has the flags and arguments that all commands that change jobs share, filled in by kong.
type Action struct {
	Filter
	All   bool `group:"Which jobs" help:"Select all jobs."`
	Limit int  `placeholder:"N" group:"Which jobs" help:"At most N jobs, the newest."`
	Yes   bool `short:"y" help:"Do not ask for confirmation."`
}

// The commands that change jobs.
type (
	// Retry is "meanwhile jobs retry".
	Retry struct{ Action }
	// Cancel is "meanwhile jobs cancel".
	Cancel struct{ Action }
	// Discard is "meanwhile jobs discard".
	Discard struct{ Action }
	// Delete is "meanwhile jobs delete".
	Delete struct{ Action }
	// Move is "meanwhile jobs move".
	Move struct {
		Action
		To string `required:"" placeholder:"NAME" help:"The queue to move them to."`
	}
	// Priority is "meanwhile jobs priority".
	Priority struct {
		Action
		To int `required:"" placeholder:"N" help:"From 1 to 9; 9 is run first."`
	}
	// Schedule is "meanwhile jobs schedule".
	Schedule struct {
		Action
		In *when.Span  `placeholder:"TIME" help:"Due after this long, as in 90s, 2h or 7d."`
		At when.Moment `placeholder:"TIME" help:"Due at this time, such as \"2026-01-31 15:04\"."`
	}
)

// Run retries.
func (r *Retry) Run(c *Command, streams probe.Streams) error {
	return r.apply(c, streams, "retry", "retried", job.ActionRetry)
}

// Help is the text above the flags.
func (*Retry) Help() string {
	return "Finished jobs get all their attempts again; queued jobs become due now. Running jobs are skipped."
}

// Run cancels.
func (r *Cancel) Run(c *Command, streams probe.Streams) error {
	return r.apply(c, streams, "cancel", "canceled", job.ActionCancel)
}

// Help is the text above the flags.
func (*Cancel) Help() string {
	return "A running job is canceled by its worker within about a second; it ends when its handler returns."
}

// Run discards.
func (r *Discard) Run(c *Command, streams probe.Streams) error {
	return r.apply(c, streams, "discard", "discarded", job.ActionDiscard)
}

// Run deletes.
func (r *Delete) Run(c *Command, streams probe.Streams) error {
	return r.apply(c, streams, "delete", "deleted", job.ActionDelete)
}

// Run moves.
func (r *Move) Run(c *Command, streams probe.Streams) error {
	return r.apply(c, streams, "move", "moved", job.ActionMove(r.To))
}

// Run changes the priority.
func (r *Priority) Run(c *Command, streams probe.Streams) error {
	if r.To < job.LowestPriority || r.To > job.HighestPriority {
		return usage("--to %d: give a priority from %d to %d", r.To, job.LowestPriority, job.HighestPriority)
	}
	return r.apply(c, streams, "change", "changed", job.ActionPriority(r.To))
}

// Run changes when jobs are due.
func (r *Schedule) Run(c *Command, streams probe.Streams) error {
	at := r.At.Time
	if (r.In == nil) == at.IsZero() {
		return usage("give one of --in and --at")
	}
	if r.In != nil {
		at = time.Now().Add(time.Duration(*r.In))
	}
	return r.apply(c, streams, "schedule", "scheduled", job.ActionRunAt(at))
}

// apply applies an action. verb and done name it: "retry 3 jobs", "3 jobs retried".
func (a *Action) apply(c *Command, streams probe.Streams, verb, done string, action job.Action) error {
	filter, err := a.filter()
	switch {
	case err != nil:
		return err
	case len(a.IDs) == 0 && !a.narrows() && !a.All:
		return usage("give IDs of jobs, or say which with flags such as --kind and --state, or --all")
	case a.All && (len(a.IDs) > 0 || a.narrows()):
		return usage("--all and what says which: choose one")
	case a.Limit < 0:
		return usage("--limit: give a positive number")
	}
	filter.Limit = a.Limit
	var result job.ActionResult
	err = c.use(false, func(ctx context.Context, s job.Store) error {
		if !a.onlyIDs() && !a.Yes {
			if ok, err := confirm(ctx, s, streams, filter, verb); err != nil || !ok {
				return err
			}
		}
		result, err = job.Apply(ctx, s, filter, action)
		record(ctx, s, streams, job.AuditOf(filter, action, result), err)
		if err != nil {
			return fmt.Errorf("%w (%s %s before that)", err, probe.Count(result.Changed, "job"), done)
		}
		return a.report(c, streams, done, result)
	})
	reportInterrupted(streams, err, result.Changed, done)
	return err
}

// reportInterrupted prints how many jobs were done with before an interruption, if err is one.
func reportInterrupted(streams probe.Streams, err error, jobs int, done string) {
	if errors.Is(err, interrupt.Err) {
		fmt.Fprintf(streams.Err, "Interrupted: %s %s\n", probe.Count(jobs, "job"), done)
	}
}

// report prints what was done. It returns an error if a named job could not be changed.
func (a *Action) report(c *Command, streams probe.Streams, done string, result job.ActionResult) error {
	if c.JSON {
		if err := writeJSON(streams.Out, result); err != nil {
			return err
		}
	} else {
		text := probe.Count(result.Changed, "job") + " " + done
		if result.Skipped > 0 {
			text += fmt.Sprintf(", %s skipped because of their state", probe.Number(result.Skipped))
		}
		if result.Conflicts > 0 {
			text += fmt.Sprintf(", %s skipped because other jobs have their unique keys", probe.Number(result.Conflicts))
		}
		fmt.Fprintln(streams.Out, text)
	}
	if a.onlyIDs() && a.Limit == 0 {
		ids, _ := parseIDs(a.IDs)
		if missing := len(ids) - result.Changed - result.Skipped - result.Conflicts; missing > 0 {
			return fmt.Errorf("not found: %s", probe.Count(missing, "job"))
		}
	}
	return nil
}

const mostCounted = 100_000

// confirm counts the matching jobs and asks whether to continue. Without a terminal it returns an error.
func confirm(ctx context.Context, s job.Store, streams probe.Streams, filter job.Filter, verb string) (bool, error) {
	n := 0
	for _, err := range job.List(ctx, s, filter) {
		if err != nil {
			return false, err
		}
		if n++; n > mostCounted {
			break
		}
	}
	count := probe.Count(n, "job")
	if n > mostCounted {
		count = "more than " + probe.Count(mostCounted, "job")
	}
	if n == 0 {
		fmt.Fprintln(streams.Err, "No jobs match.")
		return false, nil
	}
	if n == 1 {
		return ask(ctx, streams, count+" matches", verb, "it")
	}
	return ask(ctx, streams, count+" match", verb, "them")
}

// ask asks whether to do verb with what it is about, which object stands for: "it" or "them".
func ask(ctx context.Context, streams probe.Streams, what, verb, object string) (bool, error) {
	if !isTerminal(streams.In) || !isTerminal(streams.Err) {
		return false, usage("%s: add --yes to %s %s", what, verb, object)
	}
	fmt.Fprintf(streams.Err, "%s. %s %s? [y/N] ", strings.ToUpper(what[:1])+what[1:], strings.ToUpper(verb[:1])+verb[1:], object)
	for answer, err := range meanwhile.Lines(ctx, streams.In) {
		if err != nil {
			return false, fmt.Errorf("read the answer: %w", err)
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		}
		break
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	fmt.Fprintln(streams.Err, "Nothing was done.")
	return false, nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
