package dash

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A warning is something that somebody should look at.
type warning struct {
	Grave bool // work is not done; otherwise it may be meant so
	Text  string
	At    time.Time // after the text, if it is set
	More  string
	URL   string
}

// longWait is how long a job may be due in a queue.
const longWait = time.Minute

// fewFailures in five minutes are no reason to worry, whatever was before.
const fewFailures = 5

// findWarnings returns what needs attention, the worst first.
func findWarnings(counts []job.Count, past *past, queues []queueRow, workers []workerRow, crons []cronRow) []warning {
	var found []warning
	grave := func(url, more, text string, args ...any) {
		found = append(found, warning{Grave: true, Text: fmt.Sprintf(text, args...), More: more, URL: url})
	}
	mild := func(url, more, text string, args ...any) {
		found = append(found, warning{Text: fmt.Sprintf(text, args...), More: more, URL: url})
	}
	if now, before := past.recent(""), past.sum(hour-36, hour-6, ""); now.Failed >= fewFailures && now.Failed*6 > before.Failed*2 {
		grave("/jobs?state=retrying&state=discarded", fmt.Sprintf("%s failed in the half hour before that.", number(before.Failed)),
			"Failures rise: %s in five minutes", count(now.Failed, "attempt"))
	}
	for _, w := range workers {
		if w.Gone {
			grave("/workers", "Its jobs are claimed by others when their leases are over.", "Worker %s was last heard of", w.Name)
			found[len(found)-1].At = w.Seen
		}
	}
	for _, q := range queues {
		url := jobsURL("queue", q.Name, "state", string(job.Queued))
		switch {
		case q.Paused:
			mild("/queues", count(q.Queued, "job")+" are queued in it.", "Queue %s is paused", q.Name)
		case q.Workers == 0 && q.Queued > 0:
			grave(url, "Start a worker with this queue in its Config.", "No worker works on queue %s, with %s queued", q.Name, count(q.Queued, "job"))
		case q.Wait > longWait:
			grave(url, count(q.Queued, "job")+" are queued in it.", "Queue %s is behind by %s", q.Name, span(q.Wait.Truncate(time.Minute)))
		}
	}
	for _, c := range crons {
		switch {
		case c.Workers == 0 && !c.Paused && !c.Late:
			grave("/crons", "Its next tick will not be enqueued in time.", "No worker that runs has cron %s", c.Name)
		case c.Late:
			grave("/crons", "No worker has it in its Config, or none runs.", "Cron %s should have ticked", c.Name)
			found[len(found)-1].At = c.Next
		}
	}
	known := map[string]bool{}
	for _, w := range workers {
		for _, kind := range w.Kinds {
			known[kind] = true
		}
	}
	waiting := map[string]int64{}
	for _, c := range counts {
		if c.State == job.Queued && !known[c.Kind] {
			waiting[c.Kind] += c.N
		}
	}
	if len(workers) > 0 {
		for _, kind := range slices.Sorted(maps.Keys(waiting)) {
			n := waiting[kind]
			grave(jobsURL("kind", kind, "state", string(job.Queued)), "An old version of a program may run, or none that handles it.",
				"No worker handles kind %s, with %s queued", kind, count(n, "job"))
		}
	}
	if lately := past.sum(0, hour, ""); lately.Discarded > 0 {
		mild(jobsURL("state", string(job.Discarded)), "Out of attempts, or failed for good.", "%s discarded in the last hour", count(lately.Discarded, "job"))
	}
	slices.SortStableFunc(found, func(a, b warning) int {
		switch {
		case a.Grave == b.Grave:
			return 0
		case a.Grave:
			return -1
		}
		return 1
	})
	return found
}
