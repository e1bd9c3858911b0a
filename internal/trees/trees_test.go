package trees_test

import (
	"encoding/json"
	"testing"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
	"pgregory.net/rapid"
)

// drawTrees draws trees whose tasks are numbered in the order of a walk.
func drawTrees(t *rapid.T) []inspect.Node {
	next := uint32(0)
	var below func(depth int) []inspect.Node
	below = func(depth int) []inspect.Node {
		var nodes []inspect.Node
		for range rapid.IntRange(0, 4-depth).Draw(t, "tasks") {
			next++
			n := inspect.Node{ID: next, More: rapid.IntRange(0, 3).Draw(t, "more")}
			n.Tasks = below(depth + 1)
			nodes = append(nodes, n)
		}
		return nodes
	}
	return below(0)
}

// depths maps the number of each task to its level, from 0.
func depths(nodes []inspect.Node, depth int, all map[uint32]int) map[uint32]int {
	for _, n := range nodes {
		all[n.ID] = depth
		depths(n.Tasks, depth+1, all)
	}
	return all
}

func TestPruneLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTrees(t)
		before, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		most := rapid.IntRange(1, 40).Draw(t, "most")
		kept := trees.Prune(all, most)
		was, is := depths(all, 0, map[uint32]int{}), depths(kept, 0, map[uint32]int{})
		if len(is) != min(len(was), most) {
			t.Errorf("%d of %d tasks are kept, want at most %d", len(is), len(was), most)
		}
		deepest := 0
		for id, depth := range is {
			if was[id] != depth {
				t.Errorf("task %d has moved from level %d to %d", id, was[id], depth)
			}
			deepest = max(deepest, depth)
		}
		for id, depth := range was {
			if _, ok := is[id]; !ok && depth < deepest {
				t.Errorf("task %d of level %d is left out, although one of level %d is kept", id, depth, deepest)
			}
		}
		if len(kept) == len(all) && trees.Count(kept) != trees.Count(all) { // omitted roots have no parent in which they are counted
			t.Errorf("%d tasks are told of, want %d", trees.Count(kept), trees.Count(all))
		}
		for id := range was {
			_, want := is[id]
			if n := trees.Find(kept, func(n *inspect.Node) bool { return n.ID == id }); (n != nil) != want {
				t.Errorf("task %d is found as %v", id, n)
			}
		}
		if after, err := json.Marshal(all); err != nil || string(after) != string(before) {
			t.Errorf("pruning has changed the trees: %v", err)
		}
	})
}
