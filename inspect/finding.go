package inspect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// FindingKind is the kind of a [Finding].
type FindingKind uint8

// The kinds of findings.
const (
	TaskBusy             FindingKind = iota + 1 // a task has kept a processor or a thread busy for Elapsed: Wait is where
	TaskDeadlock                                // a task waits for a task that waits for it: Wait is where, and for which task
	CancellationIgnored                         // a task keeps running although it was canceled Elapsed ago: Wait is where it is
	GoroutineLeaked                             // Count goroutines that a task started still run after its end: Wait is what they do, Places where they were started
	ThreadsHeld                                 // Count goroutines hold threads in system calls or C: Places has the tasks, and where they are
	SchedulingLatency                           // goroutines waited up to Elapsed for a processor: Places has the tasks that were running
	TasksPileUp                                 // Count tasks wait at one place, and the number grows: Wait is what they wait for, Path that of the oldest
	GoroutineUnreachable                        // Count goroutines can never continue ([Leaks]): Wait is what they wait for, Path that of their task without numbers
)

var findingNames = [...]string{
	TaskBusy: "busy", TaskDeadlock: "deadlock", CancellationIgnored: "cancellation ignored", GoroutineLeaked: "goroutine leaked",
	ThreadsHeld: "threads held", SchedulingLatency: "scheduling latency", TasksPileUp: "tasks pile up", GoroutineUnreachable: "goroutine unreachable",
}

// String returns the name in lower case, such as busy or threads held.
func (k FindingKind) String() string {
	if k == 0 || int(k) >= len(findingNames) {
		return "unknown"
	}
	return findingNames[k]
}

// A Finding is a problem that a [Watch] reports.
type Finding struct {
	Kind    FindingKind
	Path    string        // of the task; empty if the finding is about several tasks
	Elapsed time.Duration // see the kinds
	Wait    Wait          // what the task does, and where
	Count   int           // how many such tasks or goroutines one snapshot found at this place
	Before  int           // for TasksPileUp: the Count of one Interval of the watch earlier
	Places  []string      // at most five, those with the most goroutines first; empty if they are not known
}

// A findingKey is the kind and the place of findings. Findings with the same key are reported once per interval.
type findingKey struct {
	kind  FindingKind
	frame Frame
}

// maxFindings is how many keys are remembered. If an interval has more, the others are not reported.
const maxFindings = 1000

// report records a finding of this scan. Findings of one kind at one place are merged into the one with the longest Elapsed, and counted.
func (s *scan) report(e Finding, place Frame) {
	f := findingKey{e.Kind, place}
	count := max(1, e.Count)
	before := s.found[f]
	switch {
	case before == nil:
		s.found[f] = &e
	case before.Elapsed < e.Elapsed:
		count += before.Count
		s.found[f] = &e
	default:
		count += before.Count
	}
	s.found[f].Count = count
}

// publish logs the findings of a scan and passes them to Report, except for those that were already published in this interval.
func (w *watch) publish(s *scan) {
	list := slices.SortedFunc(maps.Keys(s.found), func(a, b findingKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(s.found[a].Path, s.found[b].Path))
	})
	for _, f := range list {
		if _, known := w.reported[f]; known || len(w.reported) == maxFindings {
			continue
		}
		w.reported[f] = time.Now()
		e := *s.found[f]
		w.c.Log.LogAttrs(context.Background(), slog.LevelWarn, findingTexts[e.Kind], e.attributes()...)
		if w.c.Report != nil {
			w.c.Report(e)
		}
	}
}

// forget removes findings that may be reported again.
func (w *watch) forget(now time.Time) {
	for f, at := range w.reported {
		if now.Sub(at) >= w.c.Interval {
			delete(w.reported, f)
		}
	}
}

var findingTexts = map[FindingKind]string{
	TaskBusy:            "a task keeps a processor or a thread busy",
	TaskDeadlock:        "a task waits for one that waits for it",
	CancellationIgnored: "a task goes on though it was canceled",
	GoroutineLeaked:     "goroutines have outlived the task that started them",
	ThreadsHeld:         "many threads are held by system calls or C",
	SchedulingLatency:   "goroutines wait for a processor",
	TasksPileUp:         "tasks pile up at one place",

	GoroutineUnreachable: "goroutines wait for what nothing else can reach, and are leaked",
}

// attributes returns a finding as attributes of a log record.
func (f Finding) attributes() []slog.Attr {
	var list []slog.Attr
	if f.Path != "" {
		list = append(list, slog.String(scope.TaskLabel, f.Path))
	}
	if f.Elapsed > 0 {
		list = append(list, slog.Duration("elapsed", f.Elapsed.Round(time.Millisecond)))
	}
	if f.Count > 1 {
		list = append(list, slog.Int("count", f.Count))
	}
	if f.Kind == TasksPileUp {
		list = append(list, slog.Int("before", f.Before))
	}
	if f.Wait.For != "" {
		list = append(list, slog.String("wait", f.Wait.String()))
	}
	if len(f.Places) > 0 {
		list = append(list, slog.String("places", strings.Join(f.Places, "; ")))
	}
	return list
}

// mostPlaces returns the five places with the most tasks, with one of the tasks for each place.
func mostPlaces(nodes []*Node) []string {
	type place struct {
		text  string
		count int
	}
	byPlace := make(map[string]*place)
	for _, n := range nodes {
		key := fmt.Sprintf("%s %s:%d", n.Wait.Func, n.Wait.File, n.Wait.Line)
		if byPlace[key] == nil {
			text := n.Path + ": " + n.Wait.For
			if n.Wait.On != "" {
				text += " " + n.Wait.On
			}
			if n.Wait.File != "" {
				text += fmt.Sprintf(", %s:%d", filepath.Base(n.Wait.File), n.Wait.Line)
			}
			byPlace[key] = &place{text: text}
		}
		byPlace[key].count++
	}
	list := slices.SortedFunc(maps.Values(byPlace), func(a, b *place) int { return b.count - a.count })
	var texts []string
	for _, p := range list[:min(5, len(list))] {
		if p.count > 1 {
			p.text += fmt.Sprintf(", and %d more there", p.count-1)
		}
		texts = append(texts, p.text)
	}
	return texts
}
