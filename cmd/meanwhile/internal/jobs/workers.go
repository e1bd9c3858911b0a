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

// Workers is "meanwhile jobs workers".
type Workers struct{}

// Run lists the workers that have not announced that they are leaving.
func (*Workers) Run(c *Command, streams probe.Streams) error {
	return c.use(false, func(ctx context.Context, s job.Store) error {
		workers, err := s.Workers(ctx)
		if err != nil {
			return err
		}
		var rows []row
		now := time.Now()
		for _, w := range workers {
			if c.JSON {
				if err := writeJSON(streams.Out, w); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, row{cells: workerCells(w, now)})
		}
		return c.table(streams, rows, "There are no workers.", column{title: "WORKER", least: 16}, column{title: "STATE"},
			column{title: "QUEUES", least: 8}, column{title: "RUNNING", right: true}, column{title: "MEMORY", right: true}, column{title: "UP", right: true}, column{title: "SEEN", right: true})
	})
}

// workerCells returns the line of a worker. One that is gone was up until it was last seen, as far as anybody knows.
func workerCells(w job.WorkerInfo, now time.Time) []string {
	up := now
	if w.Gone(now) {
		up = w.Seen
	}
	return []string{
		w.Name, workerState(w, now), strings.Join(w.Queues, ","), runningCell(w),
		fmt.Sprintf("%dMB", w.Memory>>20), probe.Span(up.Sub(w.Started)), ago(now.Sub(w.Seen)),
	}
}

// runningCell returns how many jobs a worker runs and may run, as far as it has reported that.
func runningCell(w job.WorkerInfo) string {
	switch {
	case w.Concurrency > 0:
		return fmt.Sprintf("%d/%d", w.Running, w.Concurrency)
	case w.Running > 0:
		return strconv.Itoa(w.Running)
	}
	return "–"
}

// workerState returns whether a worker lives and claims jobs.
func workerState(w job.WorkerInfo, now time.Time) string {
	switch {
	case w.Gone(now):
		return "gone"
	case w.Stopping:
		return "stopping"
	case w.Quiet:
		return "quiet"
	}
	return "working"
}
