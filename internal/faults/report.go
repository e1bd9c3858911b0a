//go:build unix

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// The rows of the table besides the faults.
const (
	countIntended     = "jobs given to enqueue"
	countAcknowledged = "acknowledged"
	countDuplicates   = "of these held back by their key"
	countFailed       = "enqueue failed, and they were not there"
	countUnknown      = "enqueue failed, and they were there"
	countTicks        = "ticks of the cron"
	countFollowed     = "jobs that another follows"
	countExecutions   = "executions"
	countRetries      = "of these wanted: after a failure, a snooze or a stop"
	countDoubles      = "of these double: after a fault"
	countLost         = "outcomes refused, since the lease was lost"
	countDied         = "jobs given up, since their process died each time"
	countLimited      = "claims in queues with limits"
	countHolds        = "discarded jobs that held their limit keys"
	countDealt        = "of these retried or deleted by the operator"
	countSweeps       = "sweeps of the limit keys"
	countRepaired     = "limit keys that these repaired"
	countLedger       = "lines of ledgers"
)

var countOrder = []string{
	countIntended, countAcknowledged, countDuplicates, countFailed, countUnknown, countTicks, countFollowed, countExecutions, countRetries, countDoubles,
	countLost, countDied, countLimited, countHolds, countDealt, countSweeps, countRepaired, countLedger,
}

// print writes the table.
func (s *site) print(out io.Writer, violated int) {
	row := func(n int, what string) { fmt.Fprintf(out, "%9d  %s\n", n, what) }
	fmt.Fprintln(out, "faults")
	total := 0
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		if !slices.Contains(countOrder, name) {
			row(s.counts[name], name)
			total += s.counts[name]
		}
	}
	row(total, "in all")
	fmt.Fprintln(out, "jobs")
	for _, name := range countOrder {
		row(s.counts[name], name)
	}
	fmt.Fprintf(out, "ended within %v of the last fault, %d rounds\n", s.drained.Round(time.Millisecond), s.rounds)
	row(violated, "violations")
}

const maxPrinted = 10 // jobs whose lines in the ledgers are printed

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// report prints the violations of a round, and what the ledgers say about the first jobs in them.
func (o *round) report(out io.Writer) error {
	reported := map[job.ID]bool{}
	for _, v := range o.violations {
		fmt.Fprintf(out, "violation: %s\n", v)
		if id, err := job.ParseID(anyID.FindString(v)); err == nil && len(reported) < maxPrinted {
			reported[id] = true
		}
	}
	if o.hidden > 0 {
		fmt.Fprintf(out, "and %d violations more\n", o.hidden)
	}
	if len(reported) == 0 {
		return nil
	}
	type line struct {
		time int64
		text string
	}
	stories := map[job.ID][]line{}
	batches := map[string][]job.ID{} // only the jobs in reported
	err := readLedgers(o.ledgers, func(process string, e entry) {
		about := []job.ID{e.ID}
		if e.What == intends {
			for _, j := range e.Jobs {
				if reported[j.ID] {
					batches[e.Batch] = append(batches[e.Batch], j.ID)
				}
			}
		}
		about = append(about, batches[e.Batch]...)
		for _, id := range about {
			if reported[id] {
				stories[id] = append(stories[id], line{e.Time, process + " " + e.String()})
			}
		}
	})
	for id := range reported {
		fmt.Fprintf(out, "job %v\n", id)
		slices.SortFunc(stories[id], func(a, b line) int { return cmp.Compare(a.time, b.time) })
		for _, l := range stories[id] {
			fmt.Fprintf(out, "    %s %s\n", time.Unix(0, l.time).UTC().Format("15:04:05.000000"), l.text)
		}
	}
	return err
}

// show describes a job for a violation.
func show(j *job.Job) string {
	return fmt.Sprintf("attempt %d of %d, %d uncounted, %d crashed, %s, last held by %s, last error %q",
		j.Attempt, j.MaxAttempts, j.Uncounted, j.Crashed, j.State, j.Worker, j.LastError())
}
