package top

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// checkFits fails unless the screen has as many lines as the terminal, each at most as wide, without sequences that move the cursor.
func (s *screen) checkFits() {
	s.Helper()
	if problem := misfit(s.model); problem != "" {
		s.Errorf("at %d×%d: %s", s.model.width, s.model.height, problem)
	}
}

func misfit(m *model) string {
	lines := strings.Split(m.View().Content, "\n")
	if len(lines) > m.height || len(lines) < m.height && m.width >= leastWidth && m.height >= leastHeight {
		return fmt.Sprintf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		if wide := max(ansi.StringWidth(line), ansi.StringWidthWc(line)); wide > m.width {
			return fmt.Sprintf("%d columns: %q", wide, line)
		}
		if text := ansi.Strip(line); text != probe.Printable(text) {
			return fmt.Sprintf("%q is not printable", text)
		}
	}
	return ""
}

// wild returns trees that are hard to fit: deep, with wide and long names, colors and line ends.
func wild() []inspect.Node {
	deep := task(1000, "the end of it all")
	for i := range uint32(40) {
		deep = task(1001+i, fmt.Sprint("level ", i), deep)
	}
	odd := with(task(50, strings.Repeat("商品の", 30)), func(n *inspect.Node) {
		n.State = "canceled"
		n.Age, n.Wait.Seen = 1<<62, 1<<62
		n.Wait.On = strings.Repeat("待つ", 50)
		n.Wait.File, n.Wait.Line, n.Wait.Call = "/源/"+strings.Repeat("ファイル", 20)+".go", 1<<30, strings.Repeat("呼", 70)
	})
	return []inspect.Node{
		deep, odd,
		task(51, "a\x1b[31m\nb\t\u202e\u009b"),
		with(task(52, "e\u0301 👩‍👩‍👧 ❤️ 🇩🇪"), func(n *inspect.Node) { n.More = math.MaxInt }),
		with(task(53, "joining", task(54, "x")), func(n *inspect.Node) { n.State = "joining" }),
		with(task(55, ""), func(n *inspect.Node) { n.Wait = inspect.Wait{For: "task", On: "a", Deadlock: true} }),
	}
}

func TestSizes(t *testing.T) {
	states := [][]string{
		{},
		{"end"},
		{"a"},
		{"w", "end"},
		{"down", "down", "left"},
		{"/", "商", "品"},
		{"/", "z", "z"},
		{"?"},
		{"enter"},
		{"end", "up", "up", "up", "up", "up", "enter"},
		{"c"},
		{"end", "up", "up", "up", "up", "up", "c"},
		{"p"},
		{"a", "left"},
	}
	for _, width := range []int{40, 55, 56, 71, 72, 80, 200} {
		for _, height := range []int{10, 24} {
			for _, keys := range states {
				s := newScreen(t, wild()...)
				s.model.address = strings.Repeat("host.example", 20)
				s.resize(width, height)
				s.press(keys...)
				s.checkFits()
				s.model.Update(answer{request: request{detail, wild()[1]}, at: s.time, detail: live.Detail{Task: wild()[1], Stack: []inspect.Frame{{Func: strings.Repeat("長い", 300)}}}})
				s.fail(request{kind: snapshotRequest}, &probe.Failure{Reason: strings.Repeat("broken ", 50)})
				s.checkFits()
				s.fail(request{cancel, wild()[1]}, &probe.Failure{Reason: strings.Repeat("broken ", 50)})
				s.checkFits()
			}
		}
	}
}

func TestTooSmall(t *testing.T) {
	s := newScreen(t, shop())
	for _, size := range [][2]int{{39, 10}, {40, 9}, {30, 3}, {10, 1}, {1, 1}, {0, 0}} {
		s.resize(size[0], size[1])
		if got := s.lines(); len(got) != 1 || size[0] > 30 && !strings.HasSuffix(got[0], "needs 40×10") {
			t.Errorf("at %v: got %q", size, got)
		}
		s.press("down", "enter", "?", "end", "esc", "c", "n", "/", "x", "esc") // checks that nothing panics
	}
	s.resize(40, 10)
	s.checkFits()
	s.wantLine("TASK")
}

func TestColumnsThatFit(t *testing.T) {
	for width, want := range map[int]string{
		40:  "TASK AGE WAITS",
		55:  "TASK AGE WAITS",
		56:  "TASK AGE WAITS SINCE",
		71:  "TASK AGE WAITS SINCE",
		72:  "TASK AGE WAITS SINCE WHERE",
		200: "TASK AGE WAITS SINCE WHERE",
	} {
		s := newScreen(t, wild()...)
		s.resize(width, 24)
		if got := strings.Join(strings.Fields(strings.Replace(s.lines()[4], "WAITS FOR", "WAITS", 1)), " "); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
}

// TestColumnsStandStill: the columns do not move when a snapshot has shorter texts.
func TestColumnsStandStill(t *testing.T) {
	s := newScreen(t, task(1, "a name that is quite long"))
	before := s.lines()[4]
	s.show(task(2, "b"))
	if got := s.lines()[4]; got != before {
		t.Errorf("got %q after %q", got, before)
	}
}

// TestDeepTrees: the branches nearest to a task matter most, and there must be space for its name.
func TestDeepTrees(t *testing.T) {
	s := newScreen(t, wild()...)
	s.press("pgdown", "pgdown", "down", "down", "down", "down")
	s.wantLine("└─ the end of")
	s.resize(40, 24)
	s.wantLine("└─ the end")
	s.wantLine("…  ")
	s.press("a") // the end of a path is what differs
	s.wantLine("›…he end of it all")
}

// TestManyTasks: only the rows on the screen are drawn, so that the view is fast enough for many keys a second even with many tasks.
func TestManyTasks(t *testing.T) {
	var tasks []inspect.Node
	for i := range uint32(10_000) {
		tasks = append(tasks, apart(task(i+1, fmt.Sprint("task ", i))))
	}
	few, many := newScreen(t, tasks[:100]...), newScreen(t, tasks...)
	draw := func(s *screen) float64 {
		return testing.AllocsPerRun(100, func() {
			s.press("pgdown")
			_ = s.model.View()
		})
	}
	if a, b := draw(few), draw(many); b > 2*a {
		t.Errorf("a key needs %v allocations with 100 tasks, and %v with 10,000", a, b)
	}
	many.press("end")
	many.wantLine("›task 9999")
}

// TestAnything: whatever keys are pressed and answers arrive, the screen fits and the selection is a row.
func TestAnything(t *testing.T) {
	names := []string{
		"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "enter", "esc", "backspace", " ", "a", "w", "t", "/", "p",
		"c", "y", "r", "?", "ctrl+u", "商",
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newScreen(&testing.T{}, wild()...)
		s.resize(rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height"))
		t.Repeat(map[string]func(*rapid.T){
			"key": func(t *rapid.T) { s.press(rapid.SampledFrom(names).Draw(t, "key")) },
			"picture": func(t *rapid.T) {
				trees := wild()
				if rapid.Bool().Draw(t, "fewer") {
					trees = trees[rapid.IntRange(0, len(trees)).Draw(t, "from"):]
				}
				if rapid.IntRange(0, 9).Draw(t, "again") == 0 {
					s.pid++
				}
				s.show(trees...)
			},
			"answer": func(t *rapid.T) {
				if len(s.asked) == 0 {
					t.Skip()
				}
				r := s.asked[0]
				s.asked = s.asked[1:]
				switch {
				case rapid.Bool().Draw(t, "fails"):
					s.fail(r, probe.ErrEnded)
				case r.kind == snapshotRequest:
					s.show(wild()...)
				default:
					s.model.Update(answer{request: r, at: s.time, detail: live.Detail{Task: r.task}})
				}
			},
			"resize": func(t *rapid.T) {
				s.resize(rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height"))
			},
			"beat": func(*rapid.T) {
				s.time = s.time.Add(time.Second)
				s.model.Update(beat(s.time))
			},
			"": func(t *rapid.T) {
				if problem := misfit(s.model); problem != "" {
					t.Fatalf("at %d×%d: %s", s.model.width, s.model.height, problem)
				}
				l := &s.model.list
				if n := len(l.rows); n > 0 && (l.selected < 0 || l.selected >= n) || n == 0 && l.selected != 0 {
					t.Fatalf("row %d of %d is selected", l.selected, n)
				}
				if l.height > 0 && len(l.rows) > 0 && (l.selected < l.offset || l.selected >= l.offset+l.height) {
					t.Fatalf("row %d is selected, the screen shows %d from %d", l.selected, l.height, l.offset)
				}
			},
		})
	})
}
