package meanwhile

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
)

// A finding is what is reported once in an interval: of what kind, and about which place.
type finding struct {
	kind  EventKind
	place Frame
}

// maxFindings is how many of them are remembered; the others of an interval are not reported.
const maxFindings = 1000

// report notes a finding of this look. Findings of one kind at one place are one: it has the task that was found so for the
// longest, and counts them.
func (s *survey) report(e Event, place Frame) {
	f := finding{e.Kind, place}
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

// publish writes the findings of a look to the log and passes them to the observer, but for those of which this has been done
// in this interval.
func (w *watch) publish(s *survey) {
	list := slices.SortedFunc(maps.Keys(s.found), func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(s.found[a].Path, s.found[b].Path))
	})
	for _, f := range list {
		if _, told := w.told[f]; told || len(w.told) == maxFindings {
			continue
		}
		w.told[f] = time.Now()
		e := *s.found[f]
		w.c.Log.LogAttrs(context.Background(), slog.LevelWarn, findingTexts[e.Kind], e.attributes()...)
		if w.observe != nil {
			w.observe(e)
		}
	}
}

// forget makes room for findings to be reported again.
func (w *watch) forget(now time.Time) {
	for f, at := range w.told {
		if now.Sub(at) >= w.c.Interval {
			delete(w.told, f)
		}
	}
}

var findingTexts = map[EventKind]string{
	TaskBusy:            "a task keeps a processor or a thread busy",
	TaskDeadlock:        "a task waits for one that waits for it",
	CancellationIgnored: "a task goes on though it was canceled",
	GoroutineLeaked:     "goroutines have outlived the task that started them",
	ThreadsHeld:         "many threads are held by system calls or C",
	SchedulingLatency:   "goroutines wait for a processor",
	TasksPileUp:         "tasks pile up at one place",

	GoroutineUnreachable: "goroutines wait for what nothing else can reach, and are leaked",
}

// attributes are what a finding says in the log.
func (e Event) attributes() []slog.Attr {
	var list []slog.Attr
	if e.Path != "" {
		list = append(list, slog.String(taskLabel, e.Path))
	}
	if e.Elapsed > 0 {
		list = append(list, slog.Duration("elapsed", e.Elapsed.Round(time.Millisecond)))
	}
	if e.Count > 1 {
		list = append(list, slog.Int("count", e.Count))
	}
	if e.Kind == TasksPileUp {
		list = append(list, slog.Int("before", e.Before))
	}
	if e.Wait.For != "" {
		list = append(list, slog.String("wait", e.Wait.String()))
	}
	if len(e.Places) > 0 {
		list = append(list, slog.String("places", strings.Join(e.Places, "; ")))
	}
	return list
}

// mostPlaces names the five places that most of the tasks are at, with one of the tasks for each.
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
