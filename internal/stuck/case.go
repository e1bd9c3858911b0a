package main

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// A stuckCase is one way of getting stuck. The cases are in the files that are named after the kinds of waits.
type stuckCase struct {
	name  string
	start func(ctx context.Context) error // starts the tasks and returns
	want  []want
	also  []string // marks at which goroutines that are no tasks must wait
}

// cases are all cases that were compiled in.
var cases []stuckCase

func know(w ...stuckCase) { cases = append(cases, w...) }

// A want is what the tree must report about a task.
type want struct {
	path      string        // of the task, below the root
	wait      string        // Wait.For
	at        string        // the mark of the line; "" if no function of the caller is on the stack of the task
	anyPlace  bool          // Func, File and Line are not checked
	on        string        // Wait.On; "" if it is not checked
	has       []string      // parts of Wait.On; "@mark" stands for the place of a mark
	until     time.Duration // Wait.Until, to a second, counted from the start of the case; zero for none
	vague     bool          // On and Until may be missing, but not wrong: it waits with the ctx of another task, or a goroutine that it started waits as it does
	orUnknown bool          // "unknown" without a place is right as well
	polls     bool          // a timer wakes it now and then, so it may also be found running at the same place
	state     string        // "" for running
	deadlock  bool
}

// always is expected in every case: the task that takes snapshots is running, and the scope waits for it.
var always = []want{
	{path: "", wait: "task", on: root + "/snapshot", at: "root"},
	{path: "snapshot", wait: "running", at: "snapshot"},
}

// namesOnly means that goroutines are not distinguished by label sets, but only by the names in them. A task may then be unknown, but must not be
// described wrongly.
var namesOnly bool

func (w want) fullPath() string { return strings.TrimSuffix(root+"/"+w.path, "/") }

// differences returns what is wrong about a snapshot of the task of w. The nodes are those with its path, and funcs are the functions in which the
// traceback of the runtime saw goroutines wait at its line.
func (w want) differences(nodes []inspect.Node, funcs []string, started time.Time) []string {
	var wrong []string
	differ := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s: %s is %#v, want %#v", w.fullPath(), what, got, want))
	}
	if len(nodes) != 1 {
		return append(wrong, fmt.Sprintf("%s: the tree has %d tasks of this path, want 1", w.fullPath(), len(nodes)))
	}
	n := nodes[0]
	state := w.state
	if state == "" {
		state = "running"
	}
	if n.State != state {
		differ("State", n.State, state)
	}
	got := n.Wait
	if namesOnly {
		w.vague, w.orUnknown = true, true
		w.deadlock = w.deadlock && got.Deadlock
	}
	if w.orUnknown && got.For == "unknown" {
		w = want{path: w.path, wait: "unknown", on: got.On}
	}
	if w.polls && got.For == "running" {
		w.wait = got.For
	}
	if got.For != w.wait {
		differ("Wait.For", got.For, w.wait)
	}
	known := got.On != "" || !w.vague
	if known && w.on != "" && got.On != w.on {
		differ("Wait.On", got.On, w.on)
	}
	for _, part := range w.has {
		if !known {
			break
		}
		if mark, ok := strings.CutPrefix(part, "@"); ok {
			part = marks[mark].String()
		}
		if !strings.Contains(got.On, part) {
			differ("Wait.On", got.On, "something with "+part)
		}
	}
	if !w.anyPlace && (!namesOnly || got.File != "") {
		seen := sourceLine{file: path.Base(got.File), line: got.Line}
		if got.File == "" {
			seen.file = ""
		}
		if seen != marks[w.at] {
			differ("the place", seen.String(), marks[w.at].String())
		}
		if !slices.Contains(funcs, got.Func) && (got.Func != "" || w.at != "") {
			differ("Wait.Func", got.Func, funcs)
		}
	}
	due := started.Add(w.until)
	switch {
	case w.until == 0 && !got.Until.IsZero():
		differ("Wait.Until", got.Until.String(), "nothing")
	case w.vague && got.Until.IsZero():
	case w.until > 0 && got.Until.Sub(due).Abs() > time.Second:
		differ("Wait.Until", got.Until.String(), due.String())
	}
	if got.Deadlock != w.deadlock {
		differ("Wait.Deadlock", got.Deadlock, w.deadlock)
	}
	return wrong
}

// byPath returns n and all nodes below it, by path.
func byPath(n inspect.Node) map[string][]inspect.Node {
	found := make(map[string][]inspect.Node)
	var walk func(n inspect.Node)
	walk = func(n inspect.Node) {
		found[n.Path] = append(found[n.Path], n)
		for _, below := range n.Tasks {
			walk(below)
		}
	}
	walk(n)
	return found
}

// describe formats a tree with all that the suite compares, one line for each task and one for each of its calls.
func describe(n inspect.Node) string {
	var b strings.Builder
	nodes := byPath(n)
	for _, path := range slices.Sorted(maps.Keys(nodes)) {
		for _, n := range nodes[path] {
			w := n.Wait
			fmt.Fprintf(&b, "  %s (%s, %s): for %q on %q, call %q, in %s %s:%d, until %v, deadlock %v\n",
				path, n.Kind, n.State, w.For, w.On, w.Call, w.Func, w.File, w.Line, w.Until, w.Deadlock)
			for _, f := range n.Stack() {
				fmt.Fprintf(&b, "      %s\n", f.Func)
			}
		}
	}
	return b.String()
}
