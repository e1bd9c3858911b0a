package meanwhile

// A waitGraph is which tasks wait for the end of which, found while a picture is painted.
type waitGraph struct{ edges map[*node]*node }

func (g *waitGraph) waitsFor(waiter, target *node) {
	if g.edges == nil {
		g.edges = make(map[*node]*node)
	}
	g.edges[waiter] = target
}

// markDeadlocks marks the tasks that wait for one that cannot end before they do: a task ends after those it waits for,
// and after those below it.
func (g *waitGraph) markDeadlocks(nodes []Node) {
	if len(g.edges) == 0 {
		return
	}
	// A task is stuck with another when each is reached from the other. The graph is cut into such groups by Tarjan's
	// algorithm (R. Tarjan, "Depth-first search and linear graph algorithms", 1972).
	t := tarjan{edges: g.edges, index: make(map[*node]int), low: make(map[*node]int), group: make(map[*node]int), below: make(map[*node][]*node)}
	t.list(nodes)
	for waiter := range g.edges {
		if t.index[waiter] == 0 {
			t.visit(waiter)
		}
	}
	g.mark(nodes, t.group)
}

func (g *waitGraph) mark(nodes []Node, group map[*node]int) {
	for i := range nodes {
		n := &nodes[i]
		if target := g.edges[n.n]; n.n != nil && target != nil && group[n.n] == group[target] {
			n.Wait.Deadlock = true
		}
		g.mark(n.Tasks, group)
	}
}

type tarjan struct {
	edges             map[*node]*node
	below             map[*node][]*node
	index, low, group map[*node]int
	stack             []*node
}

// list notes what is below each task, and must end before it: background tasks need not.
func (t *tarjan) list(nodes []Node) {
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Tasks {
			if k := n.Tasks[j].n; k != nil && !k.is(isBackground) {
				t.below[n.n] = append(t.below[n.n], k)
			}
		}
		t.list(n.Tasks)
	}
}

func (t *tarjan) visit(n *node) {
	t.index[n] = len(t.index) + 1
	t.low[n] = t.index[n]
	t.stack = append(t.stack, n)
	next := t.below[n]
	if target := t.edges[n]; target != nil {
		next = append(next[:len(next):len(next)], target)
	}
	for _, k := range next {
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
