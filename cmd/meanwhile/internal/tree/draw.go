package tree

import (
	"bufio"
	"fmt"
	"io"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// draw writes the same text that the program itself would write. With whole, it ends with the number of tasks in trees that the
// program has left out.
func draw(w io.Writer, s live.Snapshot, whole bool) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s (pid %d): %s, %s, %s\n", probe.Printable(s.Program), s.PID, probe.Count(s.Tasks, "task"),
		probe.Count(s.Goroutines, "goroutine"), probe.Count(s.Threads, "thread"))
	for _, n := range (inspect.Node{Tasks: printable(s.Trees)}).Grouped().Tasks {
		_, _ = b.WriteString(n.String()) // b keeps an error until Flush
	}
	if left := leftOut(s) - inside(s.Trees); whole && left > 0 {
		fmt.Fprintf(b, "… and %s more\n", probe.Number(left))
	}
	return b.Flush()
}

// leftOut counts the tasks that the program has not listed.
func leftOut(s live.Snapshot) int { return s.Tasks - probe.Listed(s.Trees) }

// inside counts those that are included in the More of a listed task.
func inside(trees []inspect.Node) int {
	left := 0
	for i := range trees {
		left += trees[i].More + inside(trees[i].Tasks)
	}
	return left
}

// printable returns a copy of the trees whose names and waits do not affect a terminal.
func printable(trees []inspect.Node) []inspect.Node {
	clean := make([]inspect.Node, len(trees))
	for i, n := range trees {
		for _, text := range []*string{&n.Name, &n.Path, &n.Kind, &n.State, &n.Wait.For, &n.Wait.On, &n.Wait.Call, &n.Wait.Func, &n.Wait.File} {
			*text = probe.Printable(*text)
		}
		n.Tasks = printable(n.Tasks)
		clean[i] = n
	}
	return clean
}
