package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/when"
	"github.com/meanwhile-go/meanwhile/job"
)

// Prune is "meanwhile jobs prune".
type Prune struct {
	Completed when.Span `default:"1d" placeholder:"TIME" help:"Keep completed jobs this long (default ${default})."`
	Canceled  when.Span `default:"7d" placeholder:"TIME" help:"Keep canceled jobs this long (default ${default})."`
	Discarded when.Span `default:"30d" placeholder:"TIME" help:"Keep discarded jobs this long (default ${default})."`
	Yes       bool      `short:"y" help:"Do not ask for confirmation."`
}

const prunePart = 1000

// Help is the text above the flags.
func (*Prune) Help() string {
	return "Workers prune continuously, with these defaults unless they are configured otherwise. Unfinished jobs are never pruned."
}

// Run prunes the jobs.
func (p *Prune) Run(c *Command, streams probe.Streams) error {
	retention := map[job.State]time.Duration{
		job.Completed: time.Duration(p.Completed), job.Canceled: time.Duration(p.Canceled), job.Discarded: time.Duration(p.Discarded),
	}
	pruned := 0
	err := c.use(false, func(ctx context.Context, s job.Store) error {
		if !p.Yes {
			what := fmt.Sprintf("completed jobs older than %s, canceled ones older than %s and discarded ones older than %s will be deleted",
				probe.Span(time.Duration(p.Completed)), probe.Span(time.Duration(p.Canceled)), probe.Span(time.Duration(p.Discarded)))
			if ok, err := ask(ctx, streams, what, "delete", "them"); err != nil || !ok {
				return err
			}
		}
		var err error
		pruned, err = pruneAll(ctx, s, retention, func(r job.LaneRepair) {
			fmt.Fprintf(streams.Err, "meanwhile: limit key %s of queue %s did not match its jobs and was repaired: %s\n", probe.Printable(r.Key), probe.Printable(r.Queue), r.Wrong)
		})
		record(ctx, s, streams, job.AuditEntry{
			Action: "prune", Changed: int64(pruned),
			Target: fmt.Sprintf("completed %s, canceled %s, discarded %s", probe.Span(time.Duration(p.Completed)), probe.Span(time.Duration(p.Canceled)), probe.Span(time.Duration(p.Discarded))),
		}, err)
		if err != nil {
			return fmt.Errorf("%w (%s pruned before that)", err, probe.Count(pruned, "job"))
		}
		if c.JSON {
			return writeJSON(streams.Out, map[string]int{"pruned": pruned})
		}
		fmt.Fprintln(streams.Out, probe.Count(pruned, "job")+" pruned")
		return nil
	})
	reportInterrupted(streams, err, pruned, "pruned")
	return err
}

// pruneAll deletes jobs in batches, and returns the number of all of them. Each batch also compares the counters of some limit
// keys with their jobs.
func pruneAll(ctx context.Context, s job.Store, retention map[job.State]time.Duration, repaired func(job.LaneRepair)) (pruned int, err error) {
	for {
		part, err := s.Prune(ctx, retention, prunePart)
		for _, r := range part.Repaired {
			repaired(r)
		}
		if err != nil || part.Deleted == 0 {
			return pruned, err
		}
		pruned += part.Deleted
	}
}
