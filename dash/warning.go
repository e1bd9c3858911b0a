package dash

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A warning is something that needs attention.
type warning struct {
	Grave bool // jobs are not being run; otherwise it may be intended
	Text  string
	At    time.Time // shown after the text, if it is set
	More  string
	URL   string

	since time.Time // zero if unknown
	// Several warnings of one sort are merged: "8 queues are paused" has the thing "queue" and many " are paused".
	thing, name string
	many        string
	all         string // URL of a list of all of them
}

const (
	longWait  = time.Minute // how long a job may be due in a queue before there is a warning
	mostAlike = 2           // up to this many warnings of a sort are shown separately; more of them are merged
	mostNamed = 3           // names in a merged warning
)

// findWarnings returns what needs attention, grave warnings first, and among equals the newest.
func findWarnings(counts []job.Count, past *past, kinds []failing, queues []queueRow, workers []workerRow, crons []cronRow) []warning {
	found := slices.Concat(ofKinds(kinds), ofWorkers(workers), ofQueues(queues, past), ofCrons(crons), ofUnknown(counts, workers))
	if lately := past.attempts(0, hour, subject{}); lately.Discarded > 0 {
		found = append(found, warning{
			Text: count(lately.Discarded, "job") + " discarded in the last hour", More: "Out of attempts, or failed for good.",
			URL: jobsURL("state", string(job.Discarded)),
		})
	}
	found = together(found)
	slices.SortStableFunc(found, func(a, b warning) int {
		if a.Grave != b.Grave {
			if a.Grave {
				return -1
			}
			return 1
		}
		return cmp.Or(b.since.Compare(a.since), cmp.Compare(a.Text, b.Text))
	})
	return found
}

func ofKinds(kinds []failing) (found []warning) {
	for _, f := range kinds {
		w := warning{
			Grave: true, since: f.Since, thing: "kind", name: f.Kind, many: " fail", all: "/failures",
			Text: fmt.Sprintf("Kind %s fails: %d %% of %s in %s", f.Kind, f.Share(), count(f.Attempts, "attempt"), f.Within),
			More: f.Error, URL: "/failures?" + url.Values{"kind": {f.Kind}}.Encode(),
		}
		if f.Since.IsZero() {
			w.Text += ", for an hour or longer"
		} else {
			w.Text += ", since " + f.Since.Format("15:04") + " UTC"
		}
		found = append(found, w)
	}
	return found
}

func ofWorkers(workers []workerRow) (found []warning) {
	for _, w := range workers {
		if w.Gone {
			found = append(found, warning{
				Grave: true, since: w.Seen, thing: "worker", name: w.Name, many: " have sent no heartbeat for some time", all: "/workers",
				Text: "Worker " + w.Name + " sent its last heartbeat", At: w.Seen, More: "Other workers claim its jobs when their leases expire.", URL: "/workers",
			})
		}
	}
	return found
}

func ofQueues(queues []queueRow, past *past) (found []warning) {
	for _, q := range queues {
		w := warning{Grave: true, thing: "queue", name: q.Name, all: "/queues", URL: jobsURL("queue", q.Name, "state", string(job.Queued))}
		switch {
		case q.Paused:
			w.Grave, w.URL, w.many = false, "/queues", " are paused"
			w.Text, w.More = "Queue "+q.Name+" is paused", are(q.Queued, "job")+" queued in it."
		case q.Workers == 0 && q.Queued > 0:
			w.many = " have queued jobs and no worker"
			w.Text = fmt.Sprintf("No worker claims jobs of queue %s, with %s queued", q.Name, count(q.Queued, "job"))
			w.More = "Start a worker with this queue in its Config."
		case q.Wait > longWait:
			w.many, w.since = " are behind", past.end.Add(-q.Wait)
			w.Text, w.More = fmt.Sprintf("Queue %s is behind by %s", q.Name, span(q.Wait.Truncate(time.Minute))), are(q.Queued, "job")+" queued in it."
		default:
			continue
		}
		found = append(found, w)
	}
	return found
}

func ofCrons(crons []cronRow) (found []warning) {
	for _, c := range crons {
		w := warning{Grave: true, thing: "cron", name: c.Name, all: "/crons", URL: "/crons"}
		switch {
		case c.Late:
			w.many, w.since, w.At = " are late", c.Next, c.Next
			w.Text, w.More = fmt.Sprintf("Cron %s should have ticked", c.Name), "No worker has it in its Config, or none runs."
		case c.Workers == 0 && !c.Paused:
			w.many = " are in no worker that runs"
			w.Text, w.More = fmt.Sprintf("No worker that runs has cron %s", c.Name), "Its next tick will not be enqueued in time."
		default:
			continue
		}
		found = append(found, w)
	}
	return found
}

// ofUnknown warns of queued jobs whose kind no worker handles. A worker that takes any kind handles those in its queues.
func ofUnknown(counts []job.Count, workers []workerRow) (found []warning) {
	known, allOf := map[string]bool{}, map[string]bool{} // kinds, and queues of which all kinds are handled
	for _, w := range workers {
		for _, kind := range w.Kinds {
			known[kind] = true
		}
		if w.Kinds == nil {
			for _, queue := range w.Queues {
				allOf[queue] = true
			}
		}
	}
	waiting := map[string]int64{}
	for _, c := range counts {
		if c.State == job.Queued && !known[c.Kind] && !allOf[c.Queue] && len(workers) > 0 {
			waiting[c.Kind] += c.N
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(waiting)) {
		found = append(found, warning{
			Grave: true, thing: "kind", name: kind, many: " have queued jobs and no worker that handles them", all: jobsURL("state", string(job.Queued)),
			Text: fmt.Sprintf("No worker handles kind %s, with %s queued", kind, count(waiting[kind], "job")),
			More: "Start a worker that handles it; those that run may be of an older version.", URL: jobsURL("kind", kind, "state", string(job.Queued)),
		})
	}
	return found
}

func (w *warning) sort() string { return w.thing + w.many }

// together merges warnings of one sort if there are many, at the position of the first.
func together(found []warning) (left []warning) {
	alike := map[string][]warning{}
	for _, w := range found {
		alike[w.sort()] = append(alike[w.sort()], w)
	}
	done := map[string]bool{}
	for _, w := range found {
		all := alike[w.sort()]
		switch {
		case w.many == "" || len(all) <= mostAlike:
			left = append(left, w)
		case !done[w.sort()]:
			done[w.sort()] = true
			left = append(left, joined(all))
		}
	}
	return left
}

func joined(all []warning) warning {
	slices.SortStableFunc(all, func(a, b warning) int { return b.since.Compare(a.since) })
	names := make([]string, 0, mostNamed)
	for _, w := range all[:mostNamed] {
		names = append(names, w.name)
	}
	first := all[0]
	first.Text, first.At, first.URL = count(len(all), first.thing)+first.many, time.Time{}, first.all
	if first.More = strings.Join(names, ", "); len(all) > mostNamed {
		first.More += fmt.Sprintf(" and %s more", number(len(all)-mostNamed))
	}
	return first
}

// are is count with a verb: "1 job is", "2 jobs are".
func are(n int64, thing string) string {
	return count(n, thing) + either(n, " is", " are")
}
