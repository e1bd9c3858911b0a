package meanwhile

import (
	"cmp"
	"context"
	"runtime/pprof"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// taskLabel is the profiler label of a task's goroutine: its name path, which are the names from the root of the tree to
// the task, joined by "/". It leaves out what tells apart tasks of one name: an unnamed task is "#" in it, and an item "[]".
// So profiles group the goroutines of a million equal tasks into one.
const taskLabel = "task"

// labelName is n's part of the name path.
func (n *node) labelName() string {
	switch {
	case n.kind() == kindItem:
		return "[]"
	case n.name != nil && n.name.label > 0:
		return n.name.text[:n.name.label]
	case n.kind() == kindTask:
		return "#"
	}
	return kindNames[n.kind()]
}

// namePath returns the name path that labels carry.
func namePath(labels []goroutine.Label) string {
	i, ok := findLabel(labels, taskLabel)
	if !ok {
		return ""
	}
	return labels[i].Value
}

func findLabel(labels []goroutine.Label, key string) (int, bool) {
	return slices.BinarySearchFunc(labels, key, func(l goroutine.Label, key string) int { return cmp.Compare(l.Key, key) })
}

// callersLabels identifies the labels that ctx, which is no task's own, adds to those of its task; nil for none.
func callersLabels(ctx context.Context, parent *node) any {
	labels := ctx.Value(goroutine.Key)
	if parent != nil && labels == parent.labelValue() {
		return nil
	}
	return labels
}

// rootLabels are those of a scope or stream which no task is above.
func rootLabels(ctx context.Context, callers any, name string) []goroutine.Label {
	if callers == nil {
		return interned.below("", name)
	}
	return withLabel(goroutine.FromContext(ctx), name)
}

// A labelCache is what a task remembers of the labels that it gave to the last task below it.
type labelCache struct {
	name    string
	callers any // what identifies labels that the caller's ctx added
	labels  []goroutine.Label
}

// labelsBelow returns the labels for n, a new task below p, whose mutex the caller holds.
func (c *labelCache) labelsBelow(p, n *node, callers any) []goroutine.Label {
	name := n.labelName()
	if c.labels != nil && c.name == name && c.callers == callers {
		return c.labels
	}
	c.name, c.callers = name, callers
	if callers != nil {
		c.labels = withLabel(goroutine.FromContext(n.base), join(namePath(p.labels.Labels()), name))
	} else {
		c.labels = extend(p.labels.Labels(), name)
	}
	return c.labels
}

// extend returns the labels of what has a name below what has the others.
func extend(above []goroutine.Label, name string) []goroutine.Label {
	if len(above) == 1 {
		return interned.below(above[0].Value, name)
	}
	return withLabel(slices.Clone(above), join(namePath(above), name))
}

// join adds a name to a path that is not too long yet.
func join(path, name string) string {
	if path == "" {
		return name
	}
	if len(path)+len(name) >= maxNamePath {
		return path
	}
	return path + "/" + name
}

// withLabel sets the name path in a list that nobody else has.
func withLabel(list []goroutine.Label, path string) []goroutine.Label {
	i, ok := findLabel(list, taskLabel)
	if ok {
		list[i].Value = path
		return list
	}
	return slices.Insert(list, i, goroutine.Label{Key: taskLabel, Value: path})
}

const (
	maxNamePaths = 10_000 // that are kept for as long as the program runs
	maxNamePath  = 1024   // bytes; what is deeper has the labels of the task above
)

// interned has the labels of each name path once: a program has few of them, and many tasks.
var interned = namePaths{known: make(map[nameBelow][]goroutine.Label)}

type namePaths struct {
	mu    sync.Mutex
	known map[nameBelow][]goroutine.Label
}

type nameBelow struct{ path, name string }

// below returns the labels of a name below a path. When there are too many, they are those of the path itself.
func (i *namePaths) below(path, name string) []goroutine.Label {
	i.mu.Lock()
	defer i.mu.Unlock()
	labels, ok := i.known[nameBelow{path, name}]
	if ok {
		return labels
	}
	whole := join(path, name)
	if len(i.known) >= maxNamePaths && path != "" {
		whole = path
	}
	if len(whole) > maxNamePath {
		whole = whole[:maxNamePath]
	}
	labels = []goroutine.Label{{Key: taskLabel, Value: whole}}
	if len(i.known) < maxNamePaths {
		i.known[nameBelow{path, name}] = labels
	}
	return labels
}

// labelGoroutine gives the running goroutine a label set: itself where that can be, else one with the same labels.
func labelGoroutine(set *goroutine.Set) {
	if goroutine.Exact {
		set.Set()
	} else {
		pprof.SetGoroutineLabels(labelContext(set))
	}
}

// labelValue answers runtime/pprof, so that pprof.Do in a task adds to the task's labels and restores them afterwards.
func (n *node) labelValue() any {
	if goroutine.Exact {
		return n.labels.Value()
	}
	return labelContext(n.labels).Value(goroutine.Key)
}

// labelContext is a context with the labels of a set, by the public API alone.
func labelContext(set *goroutine.Set) context.Context {
	var pairs []string
	for _, l := range set.Labels() {
		pairs = append(pairs, l.Key, l.Value)
	}
	return pprof.WithLabels(context.Background(), pprof.Labels(pairs...))
}
