package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// The smallest screen that the view supports.
const (
	leastWidth  = 40
	leastHeight = 10
)

// mostFoot is the maximum number of lines of the question or note below the table.
const mostFoot = 3

// fit divides the screen between the head, the list or page, and the foot, before it is drawn.
func (m *model) fit() {
	rest := max(0, m.height-len(m.head())-len(m.foot()))
	m.list.height = max(0, rest-1) // below the column headings
	m.list.scroll()
	if p := m.page; p != nil {
		text := helpText
		switch p.kind {
		case detailPage:
			text = m.detailText(p)
		case waitPage:
			text = waitText(p)
		}
		p.fit(text, max(1, m.width), rest)
	}
}

// View draws the screen.
func (m *model) View() tea.View {
	view := tea.NewView(strings.Join(m.screen(), "\n"))
	view.AltScreen = true
	return view
}

func (m *model) screen() []string {
	if m.width < leastWidth || m.height < leastHeight {
		text := fmt.Sprintf("Too small: %d×%d, needs %d×%d", m.width, m.height, leastWidth, leastHeight)
		return []string{cut(text, m.width)}
	}
	lines := m.head()
	if m.page != nil {
		lines = append(lines, m.page.visible()...)
	} else {
		lines = append(lines, m.table()...)
	}
	foot := m.foot()
	for len(lines) < m.height-len(foot) {
		lines = append(lines, "")
	}
	return append(lines, foot...)
}

// foot draws the lines below the table or page: a question, the typed filter, a note, or the keys.
func (m *model) foot() []string {
	switch {
	case m.doomed != nil:
		return m.wrap(m.question(m.width), alarm)
	case m.typing:
		return []string{cutLeft("Filter: "+m.list.filterText+"▏", m.width)}
	case m.note != "":
		return m.wrap(m.note, warning)
	}
	return []string{styled(faint, m.keys())}
}

func (m *model) keys() string {
	keys := []string{"q quit", "? help", "↑↓ move", "←→ fold", "/ filter", "Enter details", "a age", "w wait", "t tree", "s time", "p pause", "c cancel"}
	if m.page != nil {
		keys = []string{"q quit", "Esc back", "↑↓ scroll"}
		switch m.page.kind {
		case detailPage:
			keys = append(keys, "p pause", "c cancel")
		case waitPage:
			keys = append(keys, "p pause")
		}
	}
	return joinFitting(keys, "  ", m.width)
}

// wrap wraps a text into the lines of the foot.
func (m *model) wrap(text string, s style) []string {
	lines := splitLines(ansi.WrapWc(probe.Printable(text), max(1, m.width), ""))
	if len(lines) > mostFoot {
		lines = lines[:mostFoot]
	}
	for i, line := range lines {
		lines[i] = styled(s, line)
	}
	return lines
}
