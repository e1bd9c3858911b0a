package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A group describes what the goroutines of all tasks with one name path do, as runtime/pprof groups them.
type group struct {
	waits map[Wait]int
	total int
}

// A groupKey identifies a group.
type groupKey struct {
	path string
	kind beginning
}

// takeGroups reads the profile of all goroutines with the public API, which has names but no addresses. The caller holds the mutex of places.
func takeGroups() map[groupKey]*group {
	samples, err := goroutineProfile()
	if err != nil {
		return nil
	}
	groups := make(map[groupKey]*group)
	dialing := slices.ContainsFunc(samples, func(s sample) bool { return dials(s.calls) })
	for _, s := range samples {
		i := slices.IndexFunc(s.calls, func(p *location) bool { return p.begins != beginsNone })
		path := s.labels[scope.TaskLabel]
		if i < 0 || path == "" {
			continue
		}
		key := groupKey{path: path, kind: s.calls[i].begins}
		g := groups[key]
		if g == nil {
			g = &group{waits: make(map[Wait]int)}
			groups[key] = g
		}
		w := waitOf(s.calls[:i])
		w.narrow(dialing)
		g.waits[w] += int(s.count)
		g.total += int(s.count)
	}
	return groups
}

// wait describes a task by its group, which has the given number of tasks. What the task waits for is known if all of them wait at one place.
func (g *group) wait(tasks int) Wait {
	if len(g.waits) == 1 && g.total == tasks {
		for w := range g.waits {
			return w
		}
	}
	byReason := make(map[string]int)
	for w, count := range g.waits {
		byReason[strings.TrimSpace(w.For+" "+w.On)] += count
	}
	reasons := slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		return cmp.Or(byReason[b]-byReason[a], strings.Compare(a, b))
	})
	text := fmt.Sprintf("one of %d of this name:", tasks)
	for i, reason := range reasons {
		if i == maxReasons {
			text += " …"
			break
		}
		text += fmt.Sprintf(" %d %s,", byReason[reason], reason)
	}
	return Wait{For: "unknown", On: strings.TrimSuffix(text, ",")}
}

// maxReasons is how many of the waits of a group are listed.
const maxReasons = 4
