package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

func detailed(n inspect.Node, frames int) live.Detail {
	d := live.Detail{Task: n}
	d.Task.More, d.Task.Tasks = probe.Below(&n), nil
	for i := range frames {
		d.Stack = append(d.Stack, inspect.Frame{Func: fmt.Sprint("example.com/shop.f", i), File: "/src/shop/f.go", Line: i})
	}
	return d
}

func TestDetail(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "enter")
	s.wantAsked("detail shop/server")
	s.wantLine("Path    shop/server")
	s.wantLine("Below   3 tasks")
	s.wantLine("Asking for the stack …")

	n := shop().Tasks[0]
	n.Age = 83 * time.Second
	n.Wait = inspect.Wait{
		For: "sleep", Until: s.time.Add(time.Hour), Seen: 3 * time.Second,
		Call: "time.Sleep", Func: "main.nap", File: "/src/shop/deep/down/nap.go", Line: 12,
	}
	s.model.Update(answer{request: request{detail, n}, at: s.time, detail: detailed(n, 2)})
	for _, want := range []string{
		"Kind    task", "State   running", "Age     1m23s", "Below   3 tasks", "Waits   sleep, 1h00m left",
		"Until   2026-01-02 04:04:05.000", "Since   3.0s or longer", "Called  time.Sleep", "In      main.nap",
		"At      /src/shop/deep/down/nap.go:12", "example.com/shop.f1", "    /src/shop/f.go:1",
	} {
		s.wantLine(want)
	}

	s.press("p", "p") // requests both again
	s.wantAsked("detail shop/server")
	s.fail(request{detail, n}, errRefused)
	s.wantLine("The stack could not be had: connection refused.")
	s.wantAsked("picture")
	s.show()
	s.model.Update(due(s.model.round))
	s.wantAsked("detail shop/server")
	s.fail(request{detail, n}, probe.ErrEnded)
	s.wantLine("The task has ended. This was known last:")
	s.wantLine("At      /src/shop/deep/down/nap.go:12")
	s.press("c")
	s.wantLine("The task has ended.")
	s.asked = nil
	s.show(shop())
	s.model.Update(due(s.model.round))
	s.wantAsked("picture") // the task is not requested any more
	s.press("esc")
	s.wantLine("TASK")
}

// TestDetailOfAnotherTask: an ID can be reused for another task.
func TestDetailOfAnotherTask(t *testing.T) {
	s := newScreen(t, shop())
	s.press("enter")
	other := task(1, "other")
	s.model.Update(answer{request: request{detail, shop()}, at: s.time, detail: detailed(other, 1)})
	s.wantLine("The task has ended.")
	s.wantLine("Path    shop")

	s.press("esc", "enter", "esc", "down", "enter") // the answer for the first arrives while the second is shown
	s.model.Update(answer{request: request{detail, shop()}, at: s.time, detail: detailed(shop(), 1)})
	s.wantLine("Path    shop/server")
	s.wantLine("Asking for the stack")

	s.press("esc")
	s.show(task(1, "other"))
	s.press("enter")
	s.model.Update(answer{request: request{detail, shop()}, at: s.time, detail: detailed(shop(), 1)})
	s.wantLine("Path    other")
	s.wantLine("Asking for the stack")
}

func TestDetailWithoutAStack(t *testing.T) {
	s := newScreen(t, shop())
	s.press("enter")
	s.model.Update(answer{request: request{detail, shop()}, at: s.time, detail: detailed(shop(), 0)})
	s.wantLine("Its stack is unknown.")
	s.fail(request{detail, shop()}, errors.New("odd\x1b"))
	s.wantLine("The stack could not be had: odd?.")
}

func TestCancelInDetail(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "enter", "c")
	s.wantLine("Cancel shop/server and 3 tasks below? (y/n)")
	s.asked = nil
	s.press("y")
	s.model.Update(answer{request: request{detail, shop().Tasks[0]}, at: s.time, detail: detailed(shop().Tasks[0], 1)})
	s.wantAsked("cancel shop/server")
}

func TestPageScrolls(t *testing.T) {
	s := newScreen(t, shop())
	s.press("enter")
	s.model.Update(answer{request: request{detail, shop()}, at: s.time, detail: detailed(shop(), 100)})
	s.wantLine("Path    shop")
	for keys, want := range map[string]string{
		"down": "Kind", "down down up": "Kind", "up": "Path", "pgdown pgup": "Path", "end home": "Path", "j k": "Path",
	} {
		s.press("home")
		s.press(strings.Fields(keys)...)
		if got := s.lines()[1]; !strings.HasPrefix(got, want) {
			t.Errorf("after %s the first line is %q, want %q", keys, got, want)
		}
	}
	s.press("end", "down", "pgdown")
	if got := s.lines()[22]; got != "    /src/shop/f.go:99" {
		t.Errorf("the last line at the end is %q", got)
	}
	s.resize(80, 40)
	if got := s.lines()[38]; got != "    /src/shop/f.go:99" {
		t.Errorf("the last line at the end of a higher screen is %q", got)
	}
	s.press("home", "space")
	s.wantLine("shop.f") // one screen further down
}

func TestHelp(t *testing.T) {
	s := newScreen(t, shop())
	s.press("?")
	s.wantLine("q or Ctrl-C      quit")
	s.press("c")
	s.wantLine("Select a task first.")
	s.press("?")
	s.wantLine("TASK")
	s.press("enter", "?")
	s.wantLine("Keys")
	s.press("esc")
	s.wantLine("TASK")
}
