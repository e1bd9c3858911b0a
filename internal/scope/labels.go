package scope

import (
	"cmp"
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// TaskLabel is the profiler label of a task's goroutine. Its value is the name path: the names from the root of the tree to the task,
// joined by "/". It leaves out what distinguishes tasks of one name: an unnamed task is "#" in it, and an item "[]". So profiles group
// the goroutines of a million equal tasks into one.
const TaskLabel = "task"

// labelName is n's part of the name path.
func (n *Node) labelName() string {
	switch {
	case n.Kind() == KindItem:
		return "[]"
	case n.name != nil && n.name.label > 0:
		return n.name.text[:n.name.label]
	case n.Kind() == KindTask:
		return "#"
	}
	return KindNames[n.Kind()]
}

// NamePath returns the name path that labels carry.
func NamePath(labels []goroutine.Label) string {
	i, ok := findLabel(labels, TaskLabel)
	if !ok {
		return ""
	}
	return labels[i].Value
}

func findLabel(labels []goroutine.Label, key string) (int, bool) {
	return slices.BinarySearchFunc(labels, key, func(l goroutine.Label, key string) int { return cmp.Compare(l.Key, key) })
}

// callersLabels identifies the labels that ctx, which is not that of a task, adds to those of its task; nil for none.
func callersLabels(ctx context.Context, parent *Node) any {
	labels := goroutine.ValueOf(ctx)
	if parent != nil && labels == parent.labelValue() {
		return nil
	}
	return labels
}

// rootLabels returns the labels of a scope or stream with no task above it.
func rootLabels(callers any, name string) []goroutine.Label {
	if callers == nil {
		return interned.below(nil, name)
	}
	return withLabel(goroutine.LabelsOf(callers), name)
}

// A labelCache has the labels that a task gave to its last child: the next child often has the same.
type labelCache struct {
	name    string
	callers any // what identifies labels that the caller's ctx added
	labels  []goroutine.Label
}

// labelsBelow returns the labels for n, a new task below p. f is the children of p; the caller holds p's mutex.
func (f *children) labelsBelow(p, n *Node, callers any) []goroutine.Label {
	name, above := n.labelName(), p.Labels.Labels()
	if callers == nil && len(above) == 1 && f.started <= maxReserve {
		return interned.below(above, name) // for few tasks, a cache is not worth the memory
	}
	c := f.labels
	if c == nil {
		c = new(labelCache)
		f.labels = c
	}
	if c.labels != nil && c.name == name && c.callers == callers {
		return c.labels
	}
	c.name, c.callers = name, callers
	if callers != nil {
		c.labels = withLabel(goroutine.LabelsOf(callers), join(NamePath(above), name))
	} else {
		c.labels = extend(above, name)
	}
	return c.labels
}

// extend returns the labels of a task with a name, below a task with the labels above.
func extend(above []goroutine.Label, name string) []goroutine.Label {
	if len(above) == 1 {
		return interned.below(above, name)
	}
	return withLabel(slices.Clone(above), join(NamePath(above), name))
}

// join adds a name to a path, unless the result would be too long.
func join(path, name string) string {
	if path == "" {
		return name
	}
	if len(path)+len(name) >= maxNamePath {
		return path
	}
	return path + "/" + name
}

// withLabel sets the name path in a list that is not shared.
func withLabel(list []goroutine.Label, path string) []goroutine.Label {
	i, ok := findLabel(list, TaskLabel)
	if ok {
		list[i].Value = path
		return list
	}
	return slices.Insert(list, i, goroutine.Label{Key: TaskLabel, Value: path})
}

const (
	maxNamePaths = 10_000 // that are kept for as long as the program runs
	maxNamePath  = 1024   // bytes; a deeper task has the labels of the task above
)

// interned has the labels of each name path once: a program has few name paths, and many tasks.
var interned = namePaths{interned: make(map[nameBelow]*internedName)}

type namePaths struct {
	recent   [256]atomic.Pointer[internedName] // those used last, by their hash: most are found here, without the mutex
	mu       sync.Mutex
	interned map[nameBelow]*internedName
}

type nameBelow struct{ path, name string }

type internedName struct {
	nameBelow
	labels []goroutine.Label
}

// hash is cheap rather than good: a program has few names.
func (n nameBelow) hash() uint8 {
	h := len(n.path) + 31*len(n.name)
	if n.path != "" {
		h += 7 * int(n.path[len(n.path)-1])
	}
	if n.name != "" {
		h += 3*int(n.name[0]) + 5*int(n.name[len(n.name)-1])
	}
	return uint8(h)
}

// below returns the labels of a name below a task with the labels above, which are none or the name path. When there are too many names,
// it returns the labels above.
func (i *namePaths) below(above []goroutine.Label, name string) []goroutine.Label {
	key := nameBelow{name: name}
	if len(above) > 0 {
		key.path = above[0].Value
	}
	recent := &i.recent[key.hash()]
	if found := recent.Load(); found != nil && found.nameBelow == key {
		return found.labels
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	found := i.interned[key]
	if found == nil {
		full := len(i.interned) >= maxNamePaths
		if full && len(above) > 0 {
			return above
		}
		whole := join(key.path, name)
		if len(whole) > maxNamePath {
			whole = whole[:maxNamePath]
		}
		found = &internedName{key, []goroutine.Label{{Key: TaskLabel, Value: whole}}}
		if full {
			return found.labels
		}
		i.interned[key] = found
	}
	recent.Store(found)
	return found.labels
}

// LabelGoroutine gives the running goroutine a label set: set itself where goroutines can be identified by their label sets, else one
// with the same labels.
func LabelGoroutine(set *goroutine.Set) {
	if goroutine.Exact {
		set.Set()
	} else {
		pprof.SetGoroutineLabels(labelContext(set))
	}
}

// labelValue returns the value that runtime/pprof looks up in a ctx, so that pprof.Do in a task adds to the task's labels and restores
// them afterwards.
func (n *Node) labelValue() any {
	if goroutine.Exact {
		return n.Labels.Value()
	}
	return labelContext(n.Labels).Value(goroutine.Key)
}

// labelContext returns a context with the labels of a set. It uses only the public API.
func labelContext(set *goroutine.Set) context.Context {
	var pairs []string
	for _, l := range set.Labels() {
		pairs = append(pairs, l.Key, l.Value)
	}
	return pprof.WithLabels(context.Background(), pprof.Labels(pairs...))
}
