package meanwhile

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A strayKey is goroutines with the same function that a task started.
type strayKey struct {
	task  string // its number
	entry string // the function
}

// checkStrays looks for goroutines that carry the labels of a task which has ended. It costs more than a look at the
// tasks, and is done that much more seldom.
func (w *watch) checkStrays(s *survey) {
	if w.c.Stray < 0 || time.Since(w.checked) < w.c.Stray/2 {
		return
	}
	begun := time.Now()
	places.Lock()
	samples, err := goroutineProfile()
	places.Unlock()
	if err != nil {
		return
	}
	seen := make(map[strayKey]time.Time)
	for _, sample := range samples {
		w.checkStray(s, sample, seen)
	}
	w.strays = seen
	w.checked = time.Now().Add(maxWatchShare * time.Since(begun))
}

func (w *watch) checkStray(s *survey, sample sample, seen map[strayKey]time.Time) {
	id, err := strconv.ParseUint(sample.labels[taskIDLabel], 10, 32)
	entry := entryOf(sample.calls)
	if err != nil || s.live[uint32(id)] || entry == nil || entry.owner == ofUs || entry.owner == ofLibrary {
		return
	}
	key := strayKey{sample.labels[taskIDLabel], entry.Func}
	since, known := w.strays[key]
	if !known {
		since = s.now
	}
	seen[key] = since
	d := s.now.Sub(since)
	if d < w.c.Stray {
		return
	}
	place := Frame{Func: entry.Func}
	if _, told := w.told[finding{TaskStray, place}]; told {
		return
	}
	e := Event{Kind: TaskStray, Path: sample.labels[taskLabel], Elapsed: d, Count: int(sample.count), Wait: waitOf(sample.calls)}
	if where, ok := createdAt(entry); ok {
		e.Places = []string{where}
	}
	w.report(e, place)
}

// entryOf is the function that a goroutine began with; nil for one whose beginning was not seen.
func entryOf(calls []*place) *place {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].digit != noDigit {
			return nil // a task
		}
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].owner != ofRuntime {
			return calls[i]
		}
	}
	return nil
}

// maxTraced is with how many goroutines a traceback of all of them is still taken: it stops the program for some
// microseconds for each.
const maxTraced = 500

// createdAt is where the goroutines that began with a function were started, if that is one place.
func createdAt(entry *place) (where string, ok bool) {
	if strings.Contains(entry.Func, ".gowrap") { // what the compiler makes of a go statement with arguments
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
