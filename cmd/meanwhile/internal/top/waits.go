package top

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// openWaits shows the wait profile, which arrives with the next answer.
func (m *model) openWaits() tea.Cmd {
	m.closePage()
	m.page = &page{kind: waitPage}
	m.queue.waits = true
	return m.queue.next()
}

func (m *model) showWaits(a answer) {
	p := m.page
	if p == nil || p.kind != waitPage {
		return // the user has left the page
	}
	p.failed = a.err
	if a.err == nil {
		p.waits = &a.waits
	}
}

// waitText returns the wait profile, as far as it is known.
func waitText(p *page) string {
	switch {
	case p.failed != nil:
		return "The wait profile could not be had: " + reason(p.failed) + "\n"
	case p.waits == nil:
		return "Asking for the wait profile …\n"
	}
	var b strings.Builder
	b.WriteString("Where the time of the tasks went\n\n")
	for line := range strings.Lines(p.waits.String()) {
		b.WriteString(probe.Printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
