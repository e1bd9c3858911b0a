package top

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// A screen is a running model: it collects the requests to the program, and the test answers them.
type screen struct {
	*testing.T
	model *model
	asked []request
	time  time.Time
	pid   int
}

// newScreen returns the screen of a program that allows canceling, with a user who may cancel.
func newScreen(t *testing.T, trees ...inspect.Node) *screen {
	s := &screen{T: t, time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), pid: 7}
	s.model = newModel("localhost:6060", time.Second, true, func(r request) tea.Cmd {
		s.asked = append(s.asked, r)
		return nil
	})
	s.model.receive(s.snapshotAnswer(trees...))
	s.resize(80, 24)
	return s
}

func (s *screen) resize(width, height int) {
	s.model.Update(tea.WindowSizeMsg{Width: width, Height: height})
}

// snapshotAnswer is an answer with these trees.
func (s *screen) snapshotAnswer(trees ...inspect.Node) answer {
	return answer{request: request{kind: snapshotRequest}, at: s.time, snapshot: live.Snapshot{
		Program: "shop", PID: s.pid, Time: s.time, Took: 1200 * time.Microsecond, Tasks: probe.Listed(trees),
		Goroutines: 1310, Threads: 14, CanCancel: true, Trees: trees,
	}}
}

// show answers with these trees, a second later.
func (s *screen) show(trees ...inspect.Node) {
	s.time = s.time.Add(time.Second)
	s.model.Update(s.snapshotAnswer(trees...))
}

// fail answers that a request has failed, a second later.
func (s *screen) fail(r request, err error) {
	s.time = s.time.Add(time.Second)
	s.model.Update(answer{request: r, at: s.time, err: err})
}

var keyCodes = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	"home": tea.KeyHome, "end": tea.KeyEnd, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace,
}

func keyOf(name string) tea.KeyPressMsg {
	if code, ok := keyCodes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// press presses keys and returns the command of the last one.
func (s *screen) press(names ...string) (cmd tea.Cmd) {
	for _, name := range names {
		_, cmd = s.model.Update(keyOf(name))
	}
	return cmd
}

// lines returns the lines on the screen, without styles.
func (s *screen) lines() []string {
	lines := strings.Split(ansi.Strip(s.model.View().Content), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// rows returns the first columns of the table, with the mark of the selection.
func (s *screen) rows() []string {
	s.Helper()
	lines := s.lines()
	head := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, " TASK") })
	if head < 0 {
		s.Fatalf("no table on the screen:\n%s", strings.Join(lines, "\n"))
	}
	age := strings.Index(lines[head], "   AGE")
	var rows []string
	for _, line := range lines[head+1 : len(lines)-len(s.model.foot())] {
		if line != "" {
			rows = append(rows, strings.TrimRight(ansi.TruncateWc(line, age, ""), " "))
		}
	}
	return rows
}

func (s *screen) wantRows(want ...string) {
	s.Helper()
	if got := s.rows(); !slices.Equal(got, want) {
		s.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// wantLine fails unless a line has the text.
func (s *screen) wantLine(text string) {
	s.Helper()
	if !slices.ContainsFunc(s.lines(), func(line string) bool { return strings.Contains(line, text) }) {
		s.Errorf("no line has %q:\n%s", text, strings.Join(s.lines(), "\n"))
	}
}

func (s *screen) wantNoLine(text string) {
	s.Helper()
	if slices.ContainsFunc(s.lines(), func(line string) bool { return strings.Contains(line, text) }) {
		s.Errorf("a line has %q:\n%s", text, strings.Join(s.lines(), "\n"))
	}
}

// wantAsked compares the requests since the previous call, by kind and task.
func (s *screen) wantAsked(want ...string) {
	s.Helper()
	var got []string
	for _, r := range s.asked {
		got = append(got, strings.TrimSpace([]string{"picture", "detail", "cancel", "waits"}[r.kind]+" "+r.task.Path))
	}
	if !slices.Equal(got, want) {
		s.Errorf("asked for %q, want %q", got, want)
	}
	s.asked = nil
}

// task returns a node, and sets its path and those of its descendants.
func task(id uint32, name string, below ...inspect.Node) inspect.Node {
	n := inspect.Node{ID: id, Name: name, Kind: "task", State: "running", Wait: inspect.Wait{For: "receive"}, Tasks: below}
	return placed(n, "")
}

func placed(n inspect.Node, above string) inspect.Node {
	n.Path = above + n.Name
	n.Tasks = slices.Clone(n.Tasks)
	for i := range n.Tasks {
		n.Tasks[i] = placed(n.Tasks[i], n.Path+"/")
	}
	return n
}

// with changes a node.
func with(n inspect.Node, change func(*inspect.Node)) inspect.Node {
	change(&n)
	return n
}

// apart gives a node its own waiting line, so that it is not grouped with others.
func apart(n inspect.Node) inspect.Node {
	n.Wait.Line = int(n.ID)
	return n
}

func shop() inspect.Node {
	return task(1, "shop",
		task(2, "server", task(3, "conn 1"), task(4, "conn 2", task(5, "query"))),
		task(6, "mailer"))
}

var errRefused = &probe.Failure{Reason: "connection refused", Err: errors.New("nothing answers")}
