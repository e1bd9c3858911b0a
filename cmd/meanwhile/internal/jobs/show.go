package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// Show is "meanwhile jobs show".
type Show struct {
	IDs    []string `arg:"" name:"id" help:"IDs of jobs."`
	Stacks bool     `help:"Print the full stack trace of a panic."`
}

const (
	timeLayout  = "2006-01-02 15:04:05"
	foldedLines = 8 // lines of a stack that are shown
)

// Run prints everything about each of the jobs.
func (s *Show) Run(c *Command, streams probe.Streams) error {
	ids, err := parseIDs(s.IDs)
	if err != nil {
		return err
	}
	return c.use(false, func(ctx context.Context, store job.Store) error {
		for i, id := range ids {
			j, err := job.Find(ctx, store, id)
			if err != nil {
				return err
			}
			now := time.Now()
			shown, err := lookUp(ctx, store, j, now)
			if err != nil {
				return err
			}
			if c.JSON {
				err = writeJSON(streams.Out, shown)
			} else {
				if i > 0 {
					fmt.Fprintln(streams.Out)
				}
				_, err = io.WriteString(streams.Out, describe(shown, now, s.Stacks))
			}
			if err != nil {
				return fmt.Errorf("write job %v: %w", id, err)
			}
		}
		return nil
	})
}

// A shownJob is a job with the reason why it does not run, while it is queued. Its exported fields are its JSON.
type shownJob struct {
	*job.Job
	Why    string        `json:"why,omitempty"`
	unseen time.Duration // how long its worker was not seen, while it runs and the worker is gone
}

// lookUp returns a job with what else is known about it.
func lookUp(ctx context.Context, store job.Store, j *job.Job, now time.Time) (shown shownJob, err error) {
	shown.Job = j
	switch j.State {
	case job.Queued:
		shown.Why, err = job.Why(ctx, store, j.ID)
	case job.Running:
		var workers []job.WorkerInfo
		workers, err = store.Workers(ctx, j.Worker)
		for _, w := range workers {
			if w.Gone(now) {
				shown.unseen = now.Sub(w.Seen)
			}
		}
	}
	return shown, err
}

// describe returns a description of everything about a job. Texts of the job are made printable.
func describe(j shownJob, now time.Time, stacks bool) string {
	var b strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, probe.Printable(fmt.Sprintf(format, args...)))
	}
	field("job", "%v", j.ID)
	field("kind", "%s", j.Kind)
	state := string(j.View(now))
	if j.CancelRequested {
		state += ", to be canceled"
	}
	field("state", "%s", state)
	if j.Why != "" {
		field("why", "%s", j.Why)
	}
	field("queue", "%s, priority %d", j.Queue, j.Priority)
	field("attempts", "%s", attempts(j.Job))
	if j.LimitKey != "" {
		field("limit key", "%s", j.LimitKey)
	}
	if j.Cost > 0 {
		field("cost", "%s", probe.Number(j.Cost))
	}
	if j.UniqueKey != "" {
		unique := j.UniqueKey
		if j.UniqueFor > 0 {
			unique += ", for " + probe.Span(j.UniqueFor)
		}
		field("unique", "%s", unique)
	}
	if j.Timeout > 0 {
		field("timeout", "%s", probe.Span(j.Timeout))
	}
	for _, key := range slices.Sorted(maps.Keys(j.Meta)) {
		field("meta", "%s=%s", key, j.Meta[key])
	}
	if j.Worker != "" {
		gone := ""
		if j.unseen > 0 {
			gone = ", gone"
		}
		field("worker", "%s%s", j.Worker, gone)
	}
	if p := j.Progress; p != nil {
		text := probe.Number(int(p.Done))
		if p.Total > 0 {
			text += fmt.Sprintf(" of %s (%d%%)", probe.Number(int(p.Total)), int(float64(p.Done)/float64(p.Total)*100))
		}
		field("progress", "%s, %s", text, ago(now.Sub(p.Time)))
	}
	section(&b, "Args", pretty(j.Args))
	b.WriteString("\nTimeline\n")
	for _, e := range timeline(j, now) {
		fmt.Fprintf(&b, "  %s  %s\n", e.at.Local().Format(timeLayout), probe.Printable(e.text))
		for _, text := range e.below {
			fmt.Fprintf(&b, "      %s\n", probe.Printable(text))
		}
		if e.stack != "" {
			for _, text := range fold(e.stack, stacks) {
				fmt.Fprintf(&b, "      %s\n", probe.Printable(text))
			}
		}
	}
	if len(j.Records) > 0 {
		var lines []string
		for _, r := range j.Records {
			text := fmt.Sprintf("%s  attempt %d  %s  %s %s", r.Time.Local().Format(timeLayout), r.Attempt, r.Level, r.Message, r.Attrs)
			lines = append(lines, strings.TrimSpace(text))
		}
		section(&b, "Records", lines)
	}
	if j.Result != nil {
		section(&b, "Result", pretty(j.Result))
	}
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "\n%s\n", title)
	for _, text := range lines {
		fmt.Fprintf(b, "  %s\n", probe.Printable(text))
	}
}

func attempts(j *job.Job) string {
	text := fmt.Sprintf("%d of %d", j.Used(), j.MaxAttempts)
	if j.Uncounted > 0 {
		text += fmt.Sprintf("; %d uncounted", j.Uncounted)
	}
	if j.Crashed > 0 {
		text += "; the process crashed " + probe.Count(j.Crashed, "time")
	}
	return text
}

// pretty formats JSON on several lines, without escaping characters such as < and é.
func pretty(text json.RawMessage) []string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return []string{string(text)}
	}
	return strings.Split(b.String(), "\n")
}

// A lifeEvent is an event in the life of a job.
type lifeEvent struct {
	at    time.Time
	text  string
	below []string
	stack string
}

// timeline returns the events in the life of a job in order.
func timeline(j shownJob, now time.Time) []lifeEvent {
	events := []lifeEvent{{at: j.Created, text: "created"}}
	for _, f := range j.Failures {
		text := fmt.Sprintf("attempt %d failed", f.Attempt)
		if !f.Started.IsZero() {
			text += " after " + probe.Span(f.Time.Sub(f.Started))
		}
		if f.Worker != "" {
			text += ", on " + f.Worker
		}
		events = append(events, lifeEvent{at: f.Time, text: text, below: strings.Split(strings.TrimSpace(f.Error), "\n"), stack: f.Stack})
	}
	switch {
	case j.State == job.Running:
		runs := lifeEvent{at: j.Started, text: fmt.Sprintf("attempt %d runs, for %s, on %s", j.Attempt, probe.Span(now.Sub(j.Started)), j.Worker)}
		if j.unseen > 0 {
			runs.below = []string{fmt.Sprintf("the worker was not seen for %s; when its lease is over, the next one runs the job", probe.Span(j.unseen))}
		}
		events = append(events, runs)
	case j.State.Finished():
		text := string(j.State)
		if j.State == job.Completed && !j.Started.IsZero() {
			text = fmt.Sprintf("%s by attempt %d, after %s", j.State, j.Attempt, probe.Span(j.Finished.Sub(j.Started)))
		}
		events = append(events, lifeEvent{at: j.Finished, text: text})
	case j.RunAt.After(now):
		events = append(events, lifeEvent{at: j.RunAt, text: "due, " + in(j.RunAt.Sub(now))})
	default:
		events = append(events, lifeEvent{at: j.RunAt, text: "due, " + ago(now.Sub(j.RunAt))})
	}
	slices.SortStableFunc(events, func(a, b lifeEvent) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	return events
}

// fold shortens a stack unless all is set: it skips the frames of the panic itself, and counts the lines after the first ones.
func fold(stack string, all bool) []string {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	for i, text := range lines {
		// The frames above belong to the panic itself; each has two lines.
		if !all && strings.HasPrefix(text, "panic(") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	if all || len(lines) <= foldedLines {
		return lines
	}
	return append(lines[:foldedLines:foldedLines], fmt.Sprintf("… and %s (--stacks)", probe.Count(len(lines)-foldedLines, "more line")))
}
