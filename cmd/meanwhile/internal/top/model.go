package top

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// A model is the state of the screen. It never reads the clock: the time is in messages.
type model struct {
	address string
	every   time.Duration
	token   bool // there is a token

	queue requestQueue
	round int // number of the current timer

	width, height int
	now           time.Time
	snapshot      live.Snapshot
	seen          time.Time // when the snapshot arrived
	lost          error     // error of the last request for a snapshot, or nil
	lostAt        time.Time // when the first such request failed
	list          list
	needs         needs
	listed        int            // number of tasks in the snapshot
	counts        map[string]int // number of tasks by what they wait for
	kinds         []string       // the keys of counts, the most frequent first

	paused bool
	forced bool          // the requested snapshot is shown although the view is paused
	typing bool          // the user is typing the filter
	doomed *inspect.Node // the task that the question is about
	page   *page         // page that hides the list, or nil
	note   string        // shown until the next key
}

// Messages besides those of bubbletea and answers.
type (
	beat time.Time // a second has passed
	due  int       // the timer with this number has expired
)

func newModel(address string, every time.Duration, token bool, do func(request) tea.Cmd) *model {
	return &model{address: address, every: every, token: token, queue: requestQueue{do: do}, list: list{folded: map[uint32]bool{}, opened: map[string]bool{}}}
}

// Init starts the clock and the timer for the next snapshot.
func (m *model) Init() tea.Cmd { return tea.Batch(m.beat(), m.wait()) }

func (*model) beat() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return beat(t) })
}

// wait starts the timer for the next snapshot, replacing a running one.
func (m *model) wait() tea.Cmd {
	m.round++
	round := m.round
	return tea.Tick(m.every, func(time.Time) tea.Msg { return due(round) })
}

// Update handles a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	m.fit()
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.typing {
			m.filter(m.list.filterText + probe.Printable(msg.Content))
		}
	case beat:
		m.now = time.Time(msg)
		return m.beat()
	case due:
		if int(msg) == m.round && !m.paused {
			return m.requestSnapshot()
		}
	case answer:
		m.queue.underway = false
		return tea.Batch(m.receive(msg), m.queue.next())
	}
	return nil
}

// requestSnapshot requests a snapshot, and the task or the wait profile that is shown.
func (m *model) requestSnapshot() tea.Cmd {
	m.queue.snapshot = true
	if m.page != nil && m.page.kind == detailPage && !m.page.ended {
		m.queue.detail = m.page.task
	}
	m.queue.waits = m.page != nil && m.page.kind == waitPage
	return m.queue.next()
}

// receive handles an answer and returns the next command.
func (m *model) receive(a answer) tea.Cmd {
	m.now = a.at
	switch a.kind {
	case detail:
		m.showDetail(a)
		return nil
	case waits:
		m.showWaits(a)
		return nil
	case cancel:
		m.tellCanceled(a)
		if a.err == nil && !m.paused {
			m.queue.snapshot = true
		}
		return nil
	}
	switch {
	case a.err != nil && m.lost == nil:
		m.lost, m.lostAt = a.err, a.at
	case a.err != nil:
		m.lost = a.err
	default:
		m.lost = nil
		if !m.paused || m.forced {
			m.show(a)
		}
	}
	m.forced = false
	return m.wait()
}

// show replaces the snapshot.
func (m *model) show(a answer) {
	before := m.snapshot
	m.snapshot, m.seen = a.snapshot, a.at
	if before.PID != 0 && (before.PID != a.snapshot.PID || before.Program != a.snapshot.Program) {
		m.startAnew()
	}
	m.count()
	m.list.show(m.snapshot.Trees)
	m.measure()
}

// startAnew forgets the tasks of a program that has been replaced: their IDs now belong to other tasks.
func (m *model) startAnew() {
	m.note = fmt.Sprintf("Another program answers: %s, pid %d.", probe.Printable(m.snapshot.Program), m.snapshot.PID)
	m.list.forget()
	m.doomed, m.queue.cancel, m.queue.detail = nil, nil, nil
	if m.page != nil {
		m.page.ended, m.page.waits = true, nil
	}
}

// filter shows only tasks that match the word; "" shows all.
func (m *model) filter(word string) {
	m.list.filter(word)
	m.measure()
}
