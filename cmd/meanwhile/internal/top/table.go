package top

import (
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
)

// measure computes how much space the texts of all rows need.
func (m *model) measure() {
	depths := make([]int, len(m.list.rows))
	for i, r := range m.list.rows {
		if r.parent >= 0 {
			depths[i] = depths[r.parent] + 1
		}
		name, note := m.label(r)
		w := r.node.Wait
		m.needs.widen(3*depths[i]+columnsOf(name)+columnsOf(note),
			columnsOf(probe.Waits(w, m.snapshot.Time)), columnsOf(probe.Place(w)))
	}
}

// label returns the name of a row, or its path in a flat list, and a note.
func (m *model) label(r row) (name, note string) {
	if r.more {
		return "… and " + probe.Number(r.node.More) + " more", ""
	}
	name = r.node.Name
	if m.list.order != byTree {
		name = r.node.Path
	}
	if r.node.State != "running" {
		note = " (" + probe.Printable(r.node.State) + ")"
	}
	if n := len(r.node.Group); n > 0 {
		note = " ×" + probe.Number(n) + note
	}
	if r.folded > 0 {
		note += " [+" + probe.Number(r.folded) + "]"
	}
	return probe.Printable(name), note
}

// table draws the rows that fit on the screen.
func (m *model) table() []string {
	c := m.needs.divide(m.width)
	lines := []string{styled(bold, c.header())}
	rows, first := m.list.visible()
	for i, r := range rows {
		if first+i == m.list.selected {
			lines = append(lines, styled(selected, "›"+m.row(c, first+i, r, plain)))
		} else {
			lines = append(lines, " "+m.row(c, first+i, r, styled))
		}
	}
	if len(rows) == 0 {
		lines = append(lines, cut(" "+m.noRows(), m.width))
	}
	return lines
}

func (m *model) noRows() string {
	if m.list.filterText != "" {
		return "No task matches the filter. Esc clears it."
	}
	return "The program has no tasks."
}

// row draws one row, without the mark in front of it.
func (m *model) row(c columns, i int, r row, dress dress) string {
	name, note := m.label(r)
	branches := ""
	if m.list.order == byTree { // leave space for the name of a deep task
		branches = m.list.branches(i, max(c.name/2, c.name-columnsOf(name+note)))
	}
	space := c.name - columnsOf(branches)
	note = cut(note, space-min(4, columnsOf(name)))
	space -= columnsOf(note)
	if m.list.order == byTree {
		name = cut(name, space)
	} else {
		name = cutLeft(name, space)
	}
	space -= columnsOf(name)
	cell := dress(faint, branches) + name + dress(warning, note) + spaces(space)
	if r.more {
		return c.line(cell, "", spaces(c.waits), "", spaces(c.location))
	}
	n := r.node
	waits := dress(styleOf(n), pad(probe.Waits(n.Wait, m.snapshot.Time), c.waits))
	return c.line(cell, age(n.Age), waits, since(n.Wait), dress(faint, pad(probe.Place(n.Wait), c.location)))
}

func styleOf(n *inspect.Node) style {
	switch {
	case n.Wait.Deadlock:
		return alarm
	case n.Wait.For == "running":
		return active
	}
	return nil
}

// since returns how long a task has been in its wait, or if that is unknown, in how many snapshots it was found there.
func since(w inspect.Wait) string {
	if w.Seen == 0 && w.Snapshots > 1 {
		return "×" + probe.Number(w.Snapshots)
	}
	return age(w.Seen)
}

// age formats a time, or returns "" if it is unknown.
func age(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return probe.Span(d)
}
