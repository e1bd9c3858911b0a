package meanwhile

import (
	"context"
	"strings"
)

// A Node is a task of the tree, as a value: what was true at one moment.
type Node struct {
	Name  string `json:"name"`  // the last part of the path
	Path  string `json:"path"`  // from the root of the tree
	Kind  string `json:"kind"`  // task, run, supervise, shield, stream or item
	State string `json:"state"` // running, joining (the function has returned, tasks below run) or canceled
	Tasks []Node `json:"tasks,omitempty"`
}

// Tree returns the task that ctx belongs to with all that runs below it, the oldest first, and the zero Node when ctx
// carries no task. It looks at each task by itself, without stopping them: tasks that start or end meanwhile may
// be seen or not.
func Tree(ctx context.Context) Node {
	n := from(ctx)
	if n == nil {
		return Node{}
	}
	return n.snapshot(n.path())
}

func (n *node) snapshot(path string) Node {
	seen := Node{Name: n.label(), Path: path, Kind: kindNames[n.kind], State: "running"}
	var below []*node
	n.mu.Lock()
	switch {
	case n.canceled.Load() != nil:
		seen.State = "canceled"
	case n.is(isJoining):
		seen.State = "joining"
	}
	below = n.children(below)
	n.mu.Unlock()
	for i := len(below) - 1; i >= 0; i-- {
		k := below[i]
		if k.kind == kindItem && k.number.Load() == 0 {
			continue
		}
		seen.Tasks = append(seen.Tasks, k.snapshot(path+"/"+k.label()))
	}
	return seen
}

// String draws the tree, a task a line.
func (n Node) String() string {
	var b strings.Builder
	n.draw(&b, "", "")
	return b.String()
}

func (n Node) draw(b *strings.Builder, first, rest string) {
	b.WriteString(first)
	b.WriteString(n.Name)
	if n.State != "running" {
		b.WriteString(" (" + n.State + ")")
	}
	b.WriteString("\n")
	for i, t := range n.Tasks {
		if i == len(n.Tasks)-1 {
			t.draw(b, rest+"└─ ", rest+"   ")
		} else {
			t.draw(b, rest+"├─ ", rest+"│  ")
		}
	}
}
