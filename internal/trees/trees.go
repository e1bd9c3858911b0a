// Package trees has functions for snapshots of task trees.
package trees

import (
	"iter"
	"slices"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// mostDepth is how many levels of tasks an answer has. The length of a path, and of a line of text, grows with the depth, so that
// the answer for an endless recursion would have no bound; and readers of JSON stop at some depth.
const mostDepth = 1000

// Prune returns a copy of the trees with up to max tasks, the shallowest first. Omitted tasks are counted in their parent;
// omitted roots are not counted.
func Prune(trees []inspect.Node, max int) []inspect.Node {
	space := max
	keep := func(all []inspect.Node) []inspect.Node {
		kept := all[:min(space, len(all))]
		space -= len(kept)
		return slices.Clone(kept)
	}
	kept := keep(trees)
	level := [][]inspect.Node{kept}
	for depth := 1; len(level) > 0; depth++ {
		if depth == mostDepth {
			space = 0
		}
		var next [][]inspect.Node
		for _, siblings := range level {
			for i := range siblings {
				n := &siblings[i]
				all := n.Tasks
				n.Tasks = keep(all)
				n.More += Count(all[len(n.Tasks):])
				if len(n.Tasks) > 0 {
					next = append(next, n.Tasks)
				}
			}
		}
		level = next
	}
	return kept
}

// Count returns the number of tasks in trees, including those that were omitted before.
func Count(trees []inspect.Node) int {
	total := 0
	for n := range Tasks(trees) {
		total += 1 + n.More
	}
	return total
}

// Find returns a task for which wanted is true, or nil if there is none.
func Find(trees []inspect.Node, wanted func(*inspect.Node) bool) *inspect.Node {
	for n := range Tasks(trees) {
		if wanted(n) {
			return n
		}
	}
	return nil
}

// Tasks yields each task of the trees, in no particular order. It is not recursive, so trees may be deep.
func Tasks(trees []inspect.Node) iter.Seq[*inspect.Node] {
	return func(yield func(*inspect.Node) bool) {
		for rest := [][]inspect.Node{trees}; len(rest) > 0; {
			siblings := rest[len(rest)-1]
			rest = rest[:len(rest)-1]
			for i := range siblings {
				if !yield(&siblings[i]) {
					return
				}
				if len(siblings[i].Tasks) > 0 {
					rest = append(rest, siblings[i].Tasks)
				}
			}
		}
	}
}
