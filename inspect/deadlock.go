package inspect

import (
	"slices"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A waitGraph has an edge for each task that waits for the end of another task.
type waitGraph struct {
	edges map[*scope.Node]*scope.EndWaiter
}

func (g *waitGraph) waitsFor(waiter *scope.Node, j *scope.EndWaiter) {
	if g.edges == nil {
		g.edges = make(map[*scope.Node]*scope.EndWaiter)
	}
	g.edges[waiter] = j
}

// markDeadlocks marks the tasks that wait for a task which cannot end, or cannot release a semaphore, before they do. A task ends after the
// tasks that it waits for, and after the tasks below it.
func (s *snapshot) markDeadlocks(nodes []Node) {
	targets := s.jamEdges()
	for waiter, j := range s.edges {
		targets[waiter] = []*scope.Node{j.Target()}
	}
	if len(targets) == 0 {
		return
	}
	// Tasks that can each be reached from the other are deadlocked with each other. Tarjan's algorithm (R. Tarjan, "Depth-first search and
	// linear graph algorithms", 1972) divides the graph into such groups.
	t := tarjan{edges: targets, index: make(map[*scope.Node]int), low: make(map[*scope.Node]int), group: make(map[*scope.Node]int), below: make(map[*scope.Node][]*scope.Node)}
	t.list(nodes)
	for waiter := range targets {
		if t.index[waiter] == 0 {
			t.visit(waiter)
		}
	}
	t.markRing(nodes)
}

// markRing marks the tasks that wait for another task of their group.
func (t *tarjan) markRing(nodes []Node) {
	for i := range nodes {
		n := &nodes[i]
		n.Wait.Deadlock = slices.ContainsFunc(t.edges[n.n], func(target *scope.Node) bool { return t.group[n.n] == t.group[target] })
		t.markRing(n.Tasks)
	}
}

type tarjan struct {
	edges, below      map[*scope.Node][]*scope.Node
	index, low, group map[*scope.Node]int
	stack             []*scope.Node
}

// list records for each task the tasks below it that must end before it, which excludes background tasks.
func (t *tarjan) list(nodes []Node) {
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Tasks {
			if k := n.Tasks[j].n; k != nil && !k.Is(scope.IsBackground) {
				t.below[n.n] = append(t.below[n.n], k)
			}
		}
		t.list(n.Tasks)
	}
}

func (t *tarjan) visit(n *scope.Node) {
	t.index[n] = len(t.index) + 1
	t.low[n] = t.index[n]
	t.stack = append(t.stack, n)
	for _, k := range slices.Concat(t.below[n], t.edges[n]) {
		switch {
		case t.index[k] == 0:
			t.visit(k)
			t.low[n] = min(t.low[n], t.low[k])
		case t.group[k] == 0:
			t.low[n] = min(t.low[n], t.index[k])
		}
	}
	if t.low[n] != t.index[n] {
		return
	}
	for {
		k := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.group[k] = t.index[n]
		if k == n {
			return
		}
	}
}
