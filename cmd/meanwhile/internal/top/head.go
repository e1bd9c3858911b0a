package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
)

// head draws the lines above the table: the program, its statistics, what its tasks wait for, and the current sorting and filter.
// Above a page there are fewer lines.
func (m *model) head() []string {
	switch {
	case m.page == nil:
		return []string{m.programLine(), m.figureLine(), m.waitLine(), m.stateLine()}
	case m.paused || m.lost != nil:
		return []string{m.programLine(), m.stateLine()}
	}
	return []string{m.programLine()}
}

func (m *model) programLine() string {
	s := &m.snapshot
	age := max(0, m.now.Sub(m.seen)).Truncate(time.Second).String() + " old"
	space := m.width - columnsOf(age) - gap
	program := fmt.Sprintf("%s  pid %d", probe.Printable(s.Program), s.PID)
	line := cut(program, space)
	rest := cut(probe.Printable(m.address), space-columnsOf(line)-gap)
	if rest != "" {
		rest = spaces(gap) + rest
	}
	filler := spaces(m.width - columnsOf(line+rest) - columnsOf(age))
	return styled(bold, line) + rest + filler + styled(m.ageStyle(), age)
}

// ageStyle highlights the age of a snapshot that is overdue for replacement.
func (m *model) ageStyle() style {
	if m.now.Sub(m.seen) > 2*m.every+3*time.Second {
		return warning
	}
	return nil
}

func (m *model) figureLine() string {
	s := &m.snapshot
	tasks := probe.Count(s.Tasks, "task")
	if m.listed < s.Tasks {
		tasks += " (" + probe.Number(m.listed) + " listed)"
	}
	return joinFitting([]string{
		tasks,
		probe.Count(s.Goroutines, "goroutine"),
		probe.Count(s.Threads, "thread"),
		"snapshot took " + probe.Span(s.Took),
	}, "  ", m.width)
}

// deadlock is the key under which deadlocked tasks are counted.
const deadlock = "deadlock"

// waitLine returns how many tasks wait for what, deadlocks first, then the most frequent.
func (m *model) waitLine() string {
	var parts []string
	for _, kind := range m.kinds {
		parts = append(parts, probe.Printable(kind)+" "+probe.Number(m.counts[kind]))
	}
	line := joinFitting(parts, " · ", m.width)
	if m.counts[deadlock] > 0 {
		return styled(alarm, parts[0]) + strings.TrimPrefix(line, parts[0])
	}
	return line
}

// count counts the tasks by what they wait for.
func (m *model) count() {
	m.counts, m.listed = map[string]int{}, probe.Listed(m.snapshot.Trees)
	countWaits(m.counts, m.snapshot.Trees)
	m.kinds = slices.SortedFunc(maps.Keys(m.counts), func(a, b string) int {
		switch deadlock {
		case a:
			return -1
		case b:
			return 1
		}
		return cmp.Or(cmp.Compare(m.counts[b], m.counts[a]), cmp.Compare(a, b))
	})
}

func countWaits(counts map[string]int, trees []inspect.Node) {
	for i := range trees {
		kind := trees[i].Wait.For
		if trees[i].Wait.Deadlock {
			kind = deadlock
		}
		counts[kind]++
		countWaits(counts, trees[i].Tasks)
	}
}

// stateLine returns errors, and how the tasks are shown.
func (m *model) stateLine() string {
	var parts []string
	look := faint
	if m.paused {
		parts, look = append(parts, "PAUSED"), warning
	}
	if m.lost != nil {
		since := m.lostAt.Local().Format("15:04:05")
		parts, look = append(parts, "No answer since "+since+": "+reason(m.lost)), alarm
		return styled(look, cut(strings.Join(parts, " · "), m.width))
	}
	parts = append(parts, orderNames[m.list.order])
	if m.list.filterText != "" {
		parts = append(parts, fmt.Sprintf("filter %q: %s of %s", m.list.filterText, probe.Number(m.list.matches), probe.Number(m.listed)))
		look = warning
	}
	return styled(look, joinFitting(parts, " · ", m.width))
}
