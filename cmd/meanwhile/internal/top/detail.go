package top

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// manyTasks is the note for a key that only works for a single task, when a group is selected.
const manyTasks = "The line stands for several tasks: → shows them."

// openDetail shows the selected task in detail. Its stack arrives with the next answer.
func (m *model) openDetail() tea.Cmd {
	n := m.list.current()
	if n == nil {
		if m.list.currentGroup() != nil {
			m.note = manyTasks
		}
		return nil
	}
	m.page = &page{kind: detailPage, task: n}
	m.queue.detail = n
	return m.queue.next()
}

func (m *model) showDetail(a answer) {
	p := m.page
	if p == nil || p.kind != detailPage || p.task.ID != a.task.ID || p.task.Path != a.task.Path {
		return // the user has left the page
	}
	switch {
	case errors.Is(a.err, probe.ErrEnded), a.err == nil && a.detail.Task.Path != p.task.Path:
		p.ended, p.failed = true, nil // its ID may already belong to another task
	case a.err != nil:
		p.failed = a.err
	default:
		p.task, p.detail, p.failed = &a.detail.Task, &a.detail, nil
	}
}

// detailText returns all that is known of a task.
func (m *model) detailText(p *page) string {
	n, w := p.task, p.task.Wait
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-7s %s\n", name, probe.Printable(value))
		}
	}
	if p.ended {
		b.WriteString("The task has ended. This was known last:\n\n")
	}
	field("Path", n.Path)
	field("Kind", n.Kind)
	field("State", n.State)
	if n.Age > 0 {
		field("Age", probe.Span(n.Age))
	}
	if below := probe.Below(n); below > 0 {
		field("Below", probe.Count(below, "task"))
	}
	field("Waits", probe.Waits(w, m.snapshot.Time))
	if !w.Until.IsZero() {
		field("Until", w.Until.Local().Format("2006-01-02 15:04:05.000 MST"))
	}
	if w.Seen > 0 {
		field("Since", probe.Span(w.Seen)+" or longer")
	} else if w.Snapshots > 1 {
		field("Since", probe.Count(w.Snapshots, "snapshot")+"; it may have been elsewhere in between")
	}
	field("Called", w.Call)
	field("In", w.Func)
	if w.File != "" {
		field("At", fmt.Sprintf("%s:%d", w.File, w.Line))
	}
	b.WriteString("\n" + stackText(p))
	return b.String()
}

func stackText(p *page) string {
	switch {
	case p.failed != nil:
		return "The stack could not be had: " + reason(p.failed) + ".\n"
	case p.detail == nil && p.ended:
		return ""
	case p.detail == nil:
		return "Asking for the stack …\n"
	case len(p.detail.Stack) == 0:
		return "Its stack is unknown.\n"
	}
	var b strings.Builder
	b.WriteString("Stack, the innermost function first\n")
	for _, f := range p.detail.Stack {
		fmt.Fprintf(&b, "%s\n    %s:%d\n", probe.Printable(f.Func), probe.Printable(f.File), f.Line)
	}
	return b.String()
}
