package top

import (
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// key executes the command of a key.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return tea.Quit
	}
	if name == "ctrl+z" {
		return tea.Suspend
	}
	m.note = ""
	switch {
	case m.typing:
		m.keyInFilter(k)
		return nil
	case m.doomed != nil:
		return m.keyInQuestion(name)
	case name == "q":
		return tea.Quit
	case m.page != nil:
		return m.keyInPage(name)
	}
	return m.keyInList(name)
}

func (m *model) keyInList(name string) tea.Cmd {
	switch name {
	case "up", "k":
		m.list.move(-1)
	case "down", "j":
		m.list.move(1)
	case "pgup":
		m.list.move(-m.list.height)
	case "pgdown":
		m.list.move(m.list.height)
	case "home", "g":
		m.list.move(-len(m.list.rows))
	case "end", "G":
		m.list.move(len(m.list.rows))
	case "left", "h", "right", "l", "space":
		m.fold(name)
	case "a":
		m.sort(byAge)
	case "w":
		m.sort(byWait)
	case "t", "n":
		m.sort(byTree)
	case "/":
		m.typing = true
	case "esc":
		m.filter("")
	case "enter":
		return m.openDetail()
	default:
		return m.keyEverywhere(name)
	}
	return nil
}

// keyEverywhere handles the keys with the same meaning in the list and in a page.
func (m *model) keyEverywhere(name string) tea.Cmd {
	switch name {
	case "c":
		m.askToCancel()
	case "p":
		m.paused = !m.paused
		if !m.paused {
			return m.requestSnapshot()
		}
	case "r":
		m.forced = true
		return m.requestSnapshot()
	case "s":
		return m.openWaits()
	case "?":
		m.toggleHelp()
	}
	return nil
}

func (m *model) fold(name string) {
	switch {
	case !m.list.folds():
		m.note = "Tasks fold in tree order and without a filter: t, then Esc."
	case name == "left" || name == "h":
		m.list.out()
	case name == "right" || name == "l":
		m.list.in()
	default:
		if !m.list.setFolded(true) {
			m.list.setFolded(false)
		}
	}
	m.measure()
}

func (m *model) sort(o sortOrder) {
	m.list.order, m.needs = o, needs{}
	m.list.arrange()
	m.measure()
}

func (m *model) keyInFilter(k tea.KeyPressMsg) {
	word := m.list.filterText
	switch k.String() {
	case "enter", "up", "down":
		m.typing = false
	case "esc":
		m.typing = false
		m.filter("")
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(word)
		m.filter(word[:len(word)-size])
	case "ctrl+u", "ctrl+w":
		m.filter("")
	default:
		if k.Text != "" {
			m.filter(word + k.Text)
		}
	}
}
