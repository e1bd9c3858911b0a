package top

import (
	_ "embed"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

//go:embed help.txt
var helpText string

// A page is a scrollable text that hides the list: the help, a task in detail, or the wait profile.
type page struct {
	kind   pageKind
	task   *inspect.Node        // of the detail
	detail *live.Detail         // nil until it has arrived
	failed error                // error of the last request for it, or nil
	ended  bool                 // the task has ended; the last known data stays
	waits  *inspect.WaitProfile // nil until it has arrived

	lines  []string
	offset int // index of the first line on the screen
	height int // number of lines on the screen
}

type pageKind int

const (
	helpPage pageKind = iota
	detailPage
	waitPage
)

// fit breaks the text into lines for the screen.
func (p *page) fit(text string, width, height int) {
	p.lines = splitLines(ansi.WrapWc(text, width, ""))
	p.height = height
	p.move(0)
}

func (p *page) move(by int) {
	p.offset = max(0, min(p.offset+by, len(p.lines)-p.height))
}

// visible returns the lines on the screen.
func (p *page) visible() []string {
	return p.lines[p.offset:min(p.offset+p.height, len(p.lines))]
}

func (m *model) keyInPage(name string) tea.Cmd {
	p := m.page
	switch name {
	case "up", "k":
		p.move(-1)
	case "down", "j":
		p.move(1)
	case "pgup":
		p.move(-p.height)
	case "pgdown", "space":
		p.move(p.height)
	case "home", "g":
		p.move(-len(p.lines))
	case "end", "G":
		p.move(len(p.lines))
	case "esc", "enter", "left", "h":
		m.closePage()
	default:
		return m.keyEverywhere(name)
	}
	return nil
}

func (m *model) closePage() { m.page, m.queue.detail, m.queue.waits = nil, nil, false }

// toggleHelp shows or hides the help.
func (m *model) toggleHelp() {
	help := m.page == nil || m.page.kind != helpPage
	m.closePage()
	if help {
		m.page = &page{}
	}
}
