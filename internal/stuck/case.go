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

// A stuckCase is a way of being stuck. The files named after the kinds of waits hold them.
type stuckCase struct {
	name  string
	start func(ctx context.Context) error // starts the tasks and returns
	want  []want
	also  []string // marks that goroutines which are no tasks are to be at
}

// cases are all that were compiled in.
var cases []stuckCase

func know(w ...stuckCase) { cases = append(cases, w...) }

// A want is what the tree has to say about a task.
type want struct {
	path      string        // of the task, below the root
	wait      string        // Wait.For
	at        string        // the mark of the line; "" where the task is in no function of the caller's
	anyPlace  bool          // nothing is promised about Func, File and Line
	on        string        // Wait.On, where it is known
	has       []string      // parts of Wait.On; "@mark" stands for the place of a mark
	until     time.Duration // Wait.Until, to a second, counted from the start of the case; zero for none
	vague     bool          // On and Until may be left out, because the task waits with the ctx of another, or a goroutine that it started waits as it does; they must not be wrong
	orUnknown bool          // "unknown" is right as well, and then without a place
	polls     bool          // a timer wakes it up now and then: it may be found running, at the same place
	state     string        // running, unless it is given
	deadlock  bool
}

// always is what holds in every case: who takes snapshots is running, and the scope waits for it.
var always = []want{
	{path: "", wait: "task", on: root + "/snapshot", at: "root"},
	{path: "snapshot", wait: "running", at: "snapshot"},
}

// namesOnly says that goroutines are not told apart by label sets, but by the names in them alone: a task may then be
// unknown, and must not be described wrongly.
var namesOnly bool

func (w want) fullPath() string { return strings.TrimSuffix(root+"/"+w.path, "/") }

// differences says what is wrong about a snapshot of the task of w. The nodes are those with its path, and funcs are
// the functions in which the runtime's own traceback saw goroutines wait at its line.
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

// byPath returns n and all below it.
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

// describe writes down a tree with all that the suite compares, a task a line.
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
