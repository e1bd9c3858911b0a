package probe

import (
	"strings"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// Match reports whether the word occurs in the path, the state, the wait, the functions or the place of a task, ignoring case.
// The usual state, running, does not count, and of the place only the part that is shown in a line.
func Match(n *inspect.Node, word string) bool { return match(n, strings.ToLower(word)) }

func match(n *inspect.Node, word string) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
	w := &n.Wait
	return has(n.Path) || has(n.Name) || n.State != "running" && has(n.State) || has(w.For+" "+w.On) ||
		w.Deadlock && has("deadlock") || has(w.Func) || has(w.Call) || has(Place(*w))
}

// Filter returns the tasks that match, with their ancestors, and the number of matches. It does not change trees.
func Filter(trees []inspect.Node, word string) (kept []inspect.Node, matches int) {
	return filter(trees, strings.ToLower(word))
}

func filter(trees []inspect.Node, word string) (kept []inspect.Node, matches int) {
	for i := range trees {
		n := &trees[i]
		below, more := filter(n.Tasks, word)
		matched := match(n, word)
		if matched {
			more++
		}
		matches += more
		if matched || len(below) > 0 {
			copied := *n
			copied.Tasks = below
			kept = append(kept, copied)
		}
	}
	return kept, matches
}

// Below counts the descendants of a task, including those that were left out.
func Below(n *inspect.Node) int {
	below := n.More
	for i := range n.Tasks {
		k := &n.Tasks[i]
		below += max(1, len(k.Group)) + Below(k)
	}
	return below
}

// Listed counts the tasks that the program has listed.
func Listed(trees []inspect.Node) int {
	listed := len(trees)
	for i := range trees {
		listed += Listed(trees[i].Tasks)
	}
	return listed
}
