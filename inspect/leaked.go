package inspect

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A leakKey identifies goroutines whose label set belongs to no task of the process: by the set, and by the function that they started with.
// Either a task that has ended started them with a plain go statement, or the program set the labels.
type leakKey struct {
	set   goroutine.Address
	entry string
}

// A leak is the goroutines of one key.
type leak struct {
	since time.Time
	count int
	entry *location
}

// checkLeaks finds goroutines that have the label set of a task which has ended. It costs more than a snapshot of the tasks, and is done less
// often accordingly.
func (w *watch) checkLeaks(s *scan) {
	if w.c.GoroutineLeaked < 0 || time.Since(w.checked) < w.c.GoroutineLeaked/2 {
		return
	}
	begun := time.Now()
	sets := liveSets()
	places.Lock()
	defer places.Unlock()
	seen := make(map[leakKey]leak)
	live := make(map[string]int) // goroutines of tasks that have not ended, by function
	known := make(traces)
	goroutine.Snapshot(func(records []goroutine.Record) {
		for _, r := range records {
			if r.Set == (goroutine.Address{}) || len(r.Stack) >= goroutine.MaxDepth {
				continue
			}
			entry := entryOf(known.of(r.Stack).calls)
			if entry == nil {
				continue
			}
			if sets[r.Set] {
				live[entry.Func]++
				continue
			}
			key := leakKey{r.Set, entry.Func}
			l, known := seen[key]
			if !known && len(seen) == maxLeaks {
				continue
			}
			if l.entry, l.since = entry, s.now; !w.leaks[key].since.IsZero() {
				l.since = w.leaks[key].since
			}
			l.count++
			seen[key] = l
		}
	})
	w.leaks = seen
	w.reportLeaks(s, live)
	w.checked = time.Now().Add(leakShare * time.Since(begun))
}

// maxLeaks is how many leaks are remembered.
const maxLeaks = 10_000

// liveSets returns the label sets of all tasks, and calls of Blocking, that have not ended.
func liveSets() map[goroutine.Address]bool {
	live := make(map[goroutine.Address]bool)
	todo := scope.Roots()
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		live[n.Labels.Address()] = true
		todo = n.Tasks(todo)
	}
	for _, calls := range scope.CallsByTask() {
		for _, c := range calls {
			live[c.Labels.Address()] = true
		}
	}
	return live
}

// reportLeaks reports goroutines that have been seen for long enough. The public profile contains the labels of their sets, and so the task that
// started them. A set with more labels than those of a task was made by pprof.Do, in a task that may not have ended. live is the number of
// goroutines of each function that belong to tasks that have not ended.
func (w *watch) reportLeaks(s *scan, live map[string]int) {
	old := w.oldLeaks(s.now)
	if len(old) == 0 {
		return
	}
	samples, err := goroutineProfile()
	if err != nil {
		return
	}
	found := make(map[string]Finding)
	for _, sample := range samples {
		entry := entryOf(sample.calls)
		if entry == nil || !isOwnSet(sample.labels) || old[entry.Func].entry == nil {
			continue
		}
		e, known := found[entry.Func]
		if !known {
			e = Finding{Kind: GoroutineLeaked, Path: sample.labels[scope.TaskLabel], Elapsed: s.now.Sub(old[entry.Func].since), Wait: waitOf(sample.calls)}
		}
		e.Count += int(sample.count)
		found[entry.Func] = e
	}
	for function, e := range found {
		e.Count = min(e.Count-live[function], old[function].count)
		if e.Count <= 0 {
			continue
		}
		if where, ok := createdAt(old[function].entry); ok {
			e.Places = []string{where}
		}
		s.report(e, Frame{Func: function})
	}
}

// oldLeaks returns the leaks to report, by function.
func (w *watch) oldLeaks(now time.Time) map[string]leak {
	old := make(map[string]leak)
	for key, l := range w.leaks {
		if now.Sub(l.since) < w.c.GoroutineLeaked {
			continue
		}
		if _, reported := w.reported[findingKey{GoroutineLeaked, Frame{Func: key.entry}}]; reported {
			continue
		}
		all, known := old[key.entry]
		if !known || l.since.Before(all.since) {
			all.since = l.since
		}
		all.entry, all.count = l.entry, all.count+l.count
		old[key.entry] = all
	}
	return old
}

// isOwnSet reports whether labels consist only of the label of a task.
func isOwnSet(labels map[string]string) bool {
	_, ok := labels[scope.TaskLabel]
	return ok && len(labels) == 1
}

// entryOf returns the function that a goroutine started with. It is nil for a goroutine that runs a task, and for one of the standard library:
// its connections stay open after the call that opened them.
func entryOf(calls []*location) (entry *location) {
	for _, p := range calls {
		if p.begins != beginsNone {
			return nil
		}
		if p.origin != ofRuntime {
			entry = p
		}
	}
	if entry == nil || entry.origin == ofUs || entry.origin == ofLibrary {
		return nil
	}
	return entry
}

// maxTraced is the maximum number of goroutines for which a traceback of all goroutines is taken: it stops the program for some microseconds per
// goroutine.
const maxTraced = 500

// createdAt returns where the goroutines that started with a function were created, if that is a single place.
func createdAt(entry *location) (where string, ok bool) {
	if strings.Contains(entry.Func, ".gowrap") { // the compiler's name for a go statement with arguments
		return fmt.Sprintf("%s:%d", entry.File, entry.Line), true
	}
	if runtime.NumGoroutine() > maxTraced {
		return "", false
	}
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	for block := range strings.SplitSeq(string(text), "\n\n") {
		calls, created, found := strings.Cut(block, "\ncreated by ")
		if !found || !beginsWith(calls, entry.Func) {
			continue
		}
		_, line, _ := strings.Cut(created, "\n\t")
		line, _, _ = strings.Cut(line, " +0x")
		if where != "" && where != line {
			return "", false
		}
		where = line
	}
	return where, where != ""
}

// beginsWith reports whether the outermost function of a traceback is entry.
func beginsWith(calls, entry string) bool {
	lines := strings.Split(calls, "\n")
	return len(lines) >= 2 && strings.HasPrefix(lines[len(lines)-2], entry+"(")
}
