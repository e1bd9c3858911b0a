package top

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

func TestDrawing(t *testing.T) {
	s := newScreen(t)
	sleeper := with(task(6, "heartbeat"), func(n *inspect.Node) {
		n.Wait = inspect.Wait{For: "sleep", Until: s.time.Add(91 * time.Second), File: "/src/shop/beat.go", Line: 9, Seen: 2 * time.Second}
	})
	server := with(task(2, "server", task(3, "商品 1"), task(4, "b")), func(n *inspect.Node) {
		n.Age, n.State, n.More = 2*time.Hour, "canceled", 312
		n.Wait = inspect.Wait{For: "network", On: "accept", Call: "net/http.(*Server).Serve", File: "/src/shop/main.go", Line: 31}
	})
	stuck := with(task(7, "a"), func(n *inspect.Node) {
		n.Wait = inspect.Wait{For: "task", On: "shop/b", Deadlock: true}
	})
	s.show(task(1, "shop", server, sleeper), stuck)
	s.model.Update(beat(s.time.Add(3 * time.Second)))
	got := strings.Join(s.lines(), "\n")
	want := `shop  pid 7  localhost:6060                                               3s old
6 tasks  1,310 goroutines  14 threads  snapshot took 1.2ms
deadlock 1 · receive 3 · network 1 · sleep 1
tree order
 TASK                     AGE  WAITS FOR             SINCE  WHERE
›shop                          receive
 ├─ server (canceled)   2h00m  network accept               shop/main.go:31 htt…
 │  ├─ 商品 1                  receive
 │  ├─ b                       receive
 │  └─ … and 312 more
 └─ heartbeat                  sleep, 1m30s left      2.0s  shop/beat.go:9
 a                             deadlock: task sho…











q quit  ? help  ↑↓ move  ←→ fold  / filter  Enter details  a age  w wait  t tree`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMovesStayInTheList(t *testing.T) {
	s := newScreen(t, shop())
	s.wantRows("›shop", " ├─ server", " │  ├─ conn 1", " │  └─ conn 2", " │     └─ query", " └─ mailer")
	for keys, want := range map[string]string{
		"down":            "server",
		"j j":             "conn 1",
		"up k":            "shop",
		"end":             "mailer",
		"G down":          "mailer",
		"pgdown":          "mailer",
		"pgdown pgup":     "shop",
		"end up":          "query",
		"end home":        "shop",
		"end g down down": "conn 1",
	} {
		s.press("home")
		s.press(strings.Fields(keys)...)
		if got := s.model.list.current().Name; got != want {
			t.Errorf("%s leads to %q, want %q", keys, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "left")
	s.wantRows(" shop", "›├─ server [+3]", " └─ mailer")
	s.press("left") // nothing left to fold: select the parent
	s.wantRows("›shop", " ├─ server [+3]", " └─ mailer")
	s.press("space")
	s.wantRows("›shop [+5]")
	s.press("space", "right", "right")
	s.wantRows(" shop", "›├─ server", " │  ├─ conn 1", " │  └─ conn 2", " │     └─ query", " └─ mailer")
	s.press("right", "down", "h", "h")
	s.wantRows(" shop", "›├─ server", " │  ├─ conn 1", " │  └─ conn 2 [+1]", " └─ mailer")
	s.press("end", "space", "right") // it has no children
	s.wantRows(" shop", " ├─ server", " │  ├─ conn 1", " │  └─ conn 2 [+1]", "›└─ mailer")

	s.show(shop(), task(9, "other")) // stays folded in the next snapshot
	s.wantRows(" shop", " ├─ server", " │  ├─ conn 1", " │  └─ conn 2 [+1]", "›└─ mailer", " other")

	s.press("a", "left")
	s.wantLine("Tasks fold in tree order and without a filter")
}

// TestGroups: similar siblings are one row until it is opened. Sorted and filtered lists have each task.
func TestGroups(t *testing.T) {
	workers := task(10, "workers", task(11, "w 1", task(21, "query")), task(12, "w 2", task(22, "query")), task(13, "w 3", task(23, "query")))
	s := newScreen(t, workers)
	s.wantRows("›workers", " └─ w 1 … w 3 ×3", "    └─ query ×3")
	s.press("down", "enter")
	s.wantLine("The line stands for several tasks: → shows them.")
	s.press("right")
	opened := []string{" workers", "›└─ w 1 … w 3 ×3", "    ├─ w 1", "    │  └─ query", "    ├─ w 2", "    │  └─ query", "    └─ w 3", "       └─ query"}
	s.wantRows(opened...)
	s.show(workers) // stays open in the next snapshot
	s.wantRows(opened...)
	s.press("right")
	if got := s.model.list.current(); got == nil || got.Name != "w 1" {
		t.Errorf("the first task is %+v", got)
	}
	s.press("left", "left", "left")
	s.wantRows(" workers", "›└─ w 1 … w 3 ×3", "    └─ query ×3")
	s.press("home", "left")
	s.wantRows("›workers [+6]")
	s.press("a")
	if got := len(s.rows()); got != 7 {
		t.Errorf("%d rows sorted by age, want 7", got)
	}
}

func TestTasksThatAreNotListed(t *testing.T) {
	s := newScreen(t, task(1, "shop", with(task(2, "many", task(3, "one")), func(n *inspect.Node) { n.More = 1234 }), task(4, "b")))
	s.wantRows("›shop", " ├─ many", " │  ├─ one", " │  └─ … and 1,234 more", " └─ b")
	s.press("down", "down", "down")
	s.wantRows(" shop", " ├─ many", " │  ├─ one", "›│  └─ … and 1,234 more", " └─ b")
	s.press("c", "enter")
	s.wantAsked()
	s.press("left")
	s.wantRows(" shop", "›├─ many", " │  ├─ one", " │  └─ … and 1,234 more", " └─ b")
	s.press("left")
	s.wantRows(" shop", "›├─ many [+1,235]", " └─ b")
}

func TestFilter(t *testing.T) {
	s := newScreen(t, shop())
	s.press("end", "/", "C", "o", "n", "n", " ")
	s.wantLine("Filter: Conn ▏")
	s.wantLine(`filter "Conn ": 3 of 6`)
	s.wantRows(" shop", " └─ server", "    ├─ conn 1", "    └─ conn 2", "›      └─ query") // the nearest to the previous selection
	s.press("2")
	s.wantRows(" shop", " └─ server", "    └─ conn 2", "›      └─ query")
	s.press("q") // a letter of the filter here
	s.wantLine("No task matches the filter")
	s.press("backspace", "enter") // the keys work again
	s.press("down", "down")
	s.wantRows(" shop", " └─ server", "›   └─ conn 2", "       └─ query")
	s.show(shop(), task(9, "conn 2 too"))
	s.wantRows(" shop", " └─ server", "›   └─ conn 2", "       └─ query", " conn 2 too")
	s.press("a") // in a flat list, only the matches
	s.wantRows("›shop/server/conn 2", " shop/server/conn 2/query", " conn 2 too")
	s.press("t", "esc")
	s.wantRows(" shop", " ├─ server", " │  ├─ conn 1", "›│  └─ conn 2", " │     └─ query", " └─ mailer", " conn 2 too")
}

func TestFilterLooksIntoFoldedTasks(t *testing.T) {
	s := newScreen(t, shop())
	s.press("space", "/", "q", "u", "e")
	s.wantRows("›shop", " └─ server", "    └─ conn 2", "       └─ query")
	s.press("esc")
	s.wantRows("›shop [+5]")
}

func TestFilterTakesPastedText(t *testing.T) {
	s := newScreen(t, shop())
	s.model.Update(tea.PasteMsg{Content: "mail"})
	s.wantRows("›shop", " ├─ server", " │  ├─ conn 1", " │  └─ conn 2", " │     └─ query", " └─ mailer")
	s.press("/", "x", "ctrl+u")
	s.model.Update(tea.PasteMsg{Content: "mail"})
	s.wantRows("›shop", " └─ mailer")
}

func TestSort(t *testing.T) {
	aged := func(id uint32, name string, age, seen time.Duration, below ...inspect.Node) inspect.Node {
		return with(task(id, name, below...), func(n *inspect.Node) { n.Age, n.Wait.Seen = age*time.Second, seen*time.Second })
	}
	locked := with(aged(4, "c", 2, 0), func(n *inspect.Node) { n.Wait.Deadlock = true })
	s := newScreen(t, aged(1, "r", 4, 1, aged(2, "a", 1, 3), aged(3, "b", 3, 2), locked))
	s.press("down", "a")
	s.wantRows(" r", " r/b", " r/c", "›r/a")
	s.press("w")
	s.wantRows(" r/c", "›r/a", " r/b", " r")
	s.wantLine("longest wait first")
	s.show(aged(1, "r", 4, 1, aged(2, "a", 1, 3), with(aged(3, "b", 3, 3), func(n *inspect.Node) { n.Wait.Seen += 5 })))
	s.wantRows("›r/a", " r/b", " r") // b is first by nanoseconds only
	s.show(aged(1, "r", 4, 1, aged(2, "a", 1, 3), aged(3, "b", 3, 2), locked))
	s.press("n")
	s.wantRows(" r", "›├─ a", " ├─ b", " └─ c")
}

func TestSelectionStaysOnItsTask(t *testing.T) {
	s := newScreen(t, task(1, "a"), task(2, "b"), task(3, "c"))
	s.press("down")
	s.show(task(8, "x"), task(1, "a"), task(9, "y"), task(2, "b"))
	s.wantRows(" x", " a", " y", "›b")
	s.show(task(2, "b"))
	s.wantRows("›b")
}

func TestSelectionOfATaskThatEnded(t *testing.T) {
	s := newScreen(t, task(1, "a"), task(2, "b"), task(3, "c"), task(4, "d"))
	s.press("down")
	s.show(task(9, "x"), task(1, "a"), task(3, "c"), task(4, "d"))
	s.wantRows(" x", " a", "›c", " d")
	s.show(task(1, "a"), task(8, "y"), task(7, "z"), task(6, "w"))
	s.wantRows("›a", " y", " z", " w")
	s.show(task(1, "a"))
	s.wantRows("›a")
	s.show()
	s.wantLine("The program has no tasks")
	s.press("down", "left", "right", "space", "enter", "c", "pgdown", "end")
	s.wantAsked()
	s.show(task(5, "e"), task(6, "f"))
	s.wantRows("›e", " f")
}

// TestScreenStandsStillAroundTheSelection: a snapshot with more tasks above the selection does not move it.
func TestScreenStandsStillAroundTheSelection(t *testing.T) {
	many := func(from, to uint32) (tasks []inspect.Node) {
		for id := from; id <= to; id++ {
			tasks = append(tasks, apart(task(id, fmt.Sprint("t", id))))
		}
		return tasks
	}
	s := newScreen(t, many(100, 200)...)
	s.press("pgdown", "pgdown", "up", "up")
	before := s.rows()
	s.show(append(many(1, 50), many(100, 200)...)...)
	s.wantRows(before...)
	s.show(append(many(1, 10), many(100, 200)...)...)
	s.wantRows(before...)
}

func TestPause(t *testing.T) {
	s := newScreen(t, task(1, "a"), task(2, "b"))
	s.model.Update(due(s.model.round))
	s.wantAsked("picture")
	s.press("p")
	s.wantLine("PAUSED")
	s.show(task(3, "late")) // the request was already in progress
	s.wantRows("›a", " b")
	s.model.Update(due(s.model.round))
	s.wantAsked()
	s.press("down")
	s.wantRows(" a", "›b")
	s.press("r")
	s.wantAsked("picture")
	s.show(task(2, "b"), task(4, "c"))
	s.wantRows("›b", " c")
	s.wantLine("PAUSED")
	s.press("p")
	s.wantAsked("picture")
	s.show(task(5, "d"))
	s.wantRows("›d")
	s.wantNoLine("PAUSED")
}

// TestOneRequestAtATime: there is never more than one request in progress, whatever the user does; a cancellation has priority.
func TestOneRequestAtATime(t *testing.T) {
	s := newScreen(t, task(1, "a"), task(2, "b"))
	s.press("r")
	s.wantAsked("picture")
	s.press("r", "down", "enter", "r", "c", "y")
	s.model.Update(due(s.model.round))
	s.wantAsked()
	s.show(task(1, "a"), task(2, "b"))
	s.wantAsked("cancel b")
	s.fail(request{cancel, task(2, "b")}, errRefused)
	s.wantAsked("detail b")
	s.model.Update(answer{request: request{detail, task(2, "b")}, at: s.time, detail: live.Detail{Task: task(2, "b")}})
	s.wantAsked("picture")
	s.show(task(1, "a"), task(2, "b"))
	s.wantAsked()
}

// TestDetailThatWasLeft: data for a page that was left is no longer requested.
func TestDetailThatWasLeft(t *testing.T) {
	s := newScreen(t, task(1, "a"))
	s.press("r", "enter", "esc")
	s.wantAsked("picture")
	s.show(task(1, "a"))
	s.wantAsked()
}

// TestTimer: each answer starts a new timer; older timers are ignored.
func TestTimer(t *testing.T) {
	s := newScreen(t, task(1, "a"))
	old := s.model.round
	s.press("r")
	s.show(task(1, "a"))
	s.wantAsked("picture")
	s.model.Update(due(old))
	s.wantAsked()
	s.model.Update(due(s.model.round))
	s.wantAsked("picture")
	s.fail(request{kind: snapshotRequest}, errRefused)
	s.model.Update(due(s.model.round))
	s.wantAsked("picture")
}

func TestProgramThatGoesAndComesBack(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "left")
	s.fail(request{kind: snapshotRequest}, errRefused)
	s.wantLine("No answer since 03:04:06: connection refused")
	s.fail(request{kind: snapshotRequest}, &probe.Failure{Reason: "no answer within 10s"})
	s.wantLine("No answer since 03:04:06: no answer within 10s")
	s.wantLine("2s old")
	s.wantRows(" shop", "›├─ server [+3]", " └─ mailer")
	s.press("enter")
	s.wantLine("No answer since 03:04:06")
	s.press("esc")
	s.show(shop())
	s.wantNoLine("No answer")
	s.wantRows(" shop", "›├─ server [+3]", " └─ mailer")
}

// TestProgramThatWasStartedAgain: task IDs of a restarted program belong to other tasks.
func TestProgramThatWasStartedAgain(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "left", "c")
	s.pid = 8
	s.show(shop())
	s.wantLine("Another program answers: shop, pid 8.")
	s.wantRows("›shop", " ├─ server", " │  ├─ conn 1", " │  └─ conn 2", " │     └─ query", " └─ mailer")
	s.press("y")
	s.wantAsked()
}

func TestQuit(t *testing.T) {
	for _, keys := range []string{"q", "ctrl+c", "enter q", "? q", "/ ctrl+c", "c ctrl+c"} {
		s := newScreen(t, shop())
		cmd := s.press(strings.Fields(keys)...)
		if cmd == nil {
			t.Errorf("%s does not quit", keys)
		} else if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s leads to %T", keys, cmd())
		}
	}
}
