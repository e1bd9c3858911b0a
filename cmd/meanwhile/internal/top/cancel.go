package top

import (
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// askToCancel asks whether to cancel the selected task, or says why that is not possible.
func (m *model) askToCancel() {
	n := m.list.current()
	if m.page != nil {
		n = m.page.task
	}
	switch {
	case !m.snapshot.CanCancel:
		m.note = "This program lets nobody cancel: it has to set CancelToken in its live.Config."
	case !m.token:
		m.note = "To cancel takes the token of the program: give it as MEANWHILE_CANCEL_TOKEN or with --token."
	case n == nil && m.list.currentGroup() != nil:
		m.note = manyTasks
	case n == nil:
		m.note = "Select a task first."
	case m.page != nil && m.page.ended:
		m.note = "The task has ended."
	default:
		m.doomed = n
	}
}

// question returns the question before a task is canceled. If the path is too long for width, only its end is shown.
func (m *model) question(width int) string {
	text := func(path string) string { return "Cancel " + path + m.withBelow() + "? (y/n)" }
	space := 2*width - columnsOf(text(""))
	return text(cutLeft(probe.Printable(m.doomed.Path), max(space, 8)))
}

// withBelow says how many descendants are canceled with the task, according to the last snapshot.
func (m *model) withBelow() string {
	if below := probe.Below(m.doomed); below > 0 {
		return " and " + probe.Count(below, "task") + " below"
	}
	return ""
}

func (m *model) keyInQuestion(name string) tea.Cmd {
	n := m.doomed
	m.doomed = nil
	if name != "y" && name != "Y" {
		m.note = "Nothing was canceled."
		return nil
	}
	m.note = "Canceling " + probe.Printable(n.Path) + " …"
	m.queue.cancel = n
	return m.queue.next()
}

func (m *model) tellCanceled(a answer) {
	path := probe.Printable(a.task.Path)
	switch {
	case a.err == nil:
		m.note = "Canceled " + path + "."
	case errors.Is(a.err, probe.ErrEnded):
		m.note = path + " has ended before."
	default:
		m.note = fmt.Sprintf("Not canceled: %s.", reason(a.err))
	}
}
