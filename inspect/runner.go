package inspect

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A runner is what a label set identifies: a task, or a call of Blocking.
type runner struct {
	// Read from the tree, before the stacks are read.
	n       *scope.Node         // nil for a call
	call    *scope.BlockingCall // nil for a task
	labels  *goroutine.Set
	path    string
	name    int // the index in path at which the last name begins
	kind    beginning
	started bool // the goroutine already had its labels
	state   string
	outer   goroutine.Address // of a scope: the label set of its goroutine outside the scope
	waiters []scope.Waiter    // the waiters of its goroutine inside this module
	below   *runner           // the first of the tasks and calls below it
	next    *runner           // the next one below the same task
	tasks   int               // the number of tasks and calls below it

	// Read from the stacks.
	stack  *stack            // nil if it was not found
	inner  goroutine.Address // the scope inside, at which the stack ends; zero if there is none
	twice  bool              // two goroutines that run it were found
	others bool              // goroutines with the label set that do not run it were found
}

// runners has the tasks and calls of a snapshot. They are collected before the stacks are read.
type runners struct {
	tops  runner // its list below has the runners without a task above
	bySet map[goroutine.Address]*runner
	most  int // the largest number of entries that bySet has had

	calls  map[*scope.Node][]*scope.BlockingCall // by the nearest task above that has not ended
	lists  scope.Lists
	paths  strings.Builder
	text   []byte     // of the last name
	blocks [][]runner // runners are allocated from these
	count  int        // the number of runners in use
}

// blockSize is the number of runners that are allocated together.
const blockSize = 256

// spareRunners keeps the runners of the last snapshots, cleared, for the next ones: otherwise they would be a quarter of what a snapshot
// allocates. The garbage collector frees them if no snapshot has used them for some time.
var spareRunners = sync.Pool{New: func() any { return new(runners) }}

// collectRunners walks the trees below the given tasks. With others, it adds the calls of Blocking that have no task above.
func collectRunners(tops []*scope.Node, others bool) *runners {
	r := spareRunners.Get().(*runners)
	r.calls = scope.CallsByTask()
	link := &r.tops.below
	for _, n := range tops {
		path := n.Path()
		link = r.collect(link, n, path, len(path)-len(n.Label()))
	}
	r.tops.tasks = len(tops)
	if others {
		r.collectCalls(link, r.calls[nil])
		r.tops.tasks += len(r.calls[nil])
	}
	if r.bySet == nil || r.most > 8*r.count { // clearing a map costs as much as the largest number of entries that it ever had
		r.bySet, r.most = make(map[goroutine.Address]*runner, r.count), r.count
	}
	r.most = max(r.most, r.count)
	for one := range r.all() {
		r.bySet[one.labels.Address()] = one
	}
	for _, w := range r.lists.Elsewhere {
		if one := r.bySet[w.Set]; one != nil {
			one.waiters = append(one.waiters[:len(one.waiters):len(one.waiters)], w.Waiter)
		}
	}
	return r
}

// release clears the runners for reuse. They must not be used afterwards.
func (r *runners) release() {
	blocks := r.blocks
	for i, left := 0, r.count; left > 0; i, left = i+1, left-blockSize {
		clear(blocks[i][:min(left, blockSize)])
	}
	clear(r.bySet)
	r.lists.Clear()
	*r = runners{bySet: r.bySet, most: r.most, lists: r.lists, text: r.text[:0], blocks: blocks}
	spareRunners.Put(r)
}

// add returns a new runner.
func (r *runners) add() *runner {
	at := r.count / blockSize
	if at == len(r.blocks) {
		r.blocks = append(r.blocks, make([]runner, blockSize))
	}
	one := &r.blocks[at][r.count%blockSize]
	r.count++
	return one
}

// all yields the runners.
func (r *runners) all() iter.Seq[*runner] {
	return func(yield func(*runner) bool) {
		for i := range r.count {
			if !yield(&r.blocks[i/blockSize][i%blockSize]) {
				return
			}
		}
	}
}

// collect reads n, whose name begins at index name of its path, and the tree below it. It appends n to the list that ends at link, and returns
// the new end.
func (r *runners) collect(link **runner, n *scope.Node, path string, name int) **runner {
	one := r.add()
	*link = one
	one.n, one.labels, one.path, one.name = n, n.Labels, path, name
	one.kind, one.started, one.state = beginningOf(n.Kind()), n.Is(scope.IsStarted), "running"
	known, first := len(r.lists.Waiters), len(r.lists.Below)
	v := n.Inspect(&r.lists)
	switch {
	case v.Canceled:
		one.state = "canceled"
	case v.Joining:
		one.state = "joining"
	}
	one.outer = v.Outer
	one.waiters = r.lists.Waiters[known:len(r.lists.Waiters):len(r.lists.Waiters)]
	tasks, calls := r.lists.Below[first:], r.calls[n]
	slices.Reverse(tasks)
	if n.Kind() == scope.KindStream {
		slices.SortFunc(tasks, byIndex)
	}
	below := &one.below
	for _, k := range tasks {
		below = r.collect(below, k, r.pathBelow(path, k), len(path)+1)
	}
	r.collectCalls(below, calls)
	one.tasks = len(tasks) + len(calls)
	r.lists.Below = r.lists.Below[:first]
	return &one.next
}

// byIndex sorts the items of a stream by index. The tree has them in the order in which they were started.
func byIndex(a, b *scope.Node) int { return cmp.Compare(a.Number, b.Number) }

// pathsSize is the size in bytes of an object that paths are allocated from: one path that is in use keeps the whole object in memory.
const pathsSize = 4096

func (r *runners) pathBelow(above string, n *scope.Node) string {
	r.text = n.AppendLabel(r.text[:0])
	b := &r.paths
	if size := len(above) + 1 + len(r.text); b.Cap()-b.Len() < size {
		b.Reset()
		b.Grow(max(size, pathsSize))
	}
	begin := b.Len()
	b.WriteString(above)
	b.WriteByte('/')
	b.Write(r.text)
	return b.String()[begin:]
}

func (r *runners) collectCalls(link **runner, calls []*scope.BlockingCall) {
	for _, c := range calls {
		path := blockingName
		if c.Caller != nil {
			path = c.Caller.Path() + "/" + blockingName
		}
		one := r.add()
		*one = runner{call: c, labels: c.Labels, path: path, name: len(path) - len(blockingName), kind: beginsBlocking, state: "running"}
		*link = one
		link = &one.next
	}
}

// blockingName is the name of a call of Blocking, and its kind.
const blockingName = "blocking"

// ended reports whether the task or the call has ended.
func (one *runner) ended() bool {
	if one.call != nil {
		return one.call.HasEnded()
	}
	return one.n.Is(scope.IsFinished)
}

// group returns the key of the tasks with the same name path and kind.
func (one *runner) group() groupKey { return groupKey{scope.NamePath(one.labels.Labels()), one.kind} }

// sizesOfGroups returns the number of tasks of each group in the whole process: other trees may have the same names.
func sizesOfGroups() map[groupKey]int {
	r := collectRunners(scope.Roots(), true)
	defer r.release()
	sizes := make(map[groupKey]int)
	for one := range r.all() {
		sizes[one.group()]++
	}
	return sizes
}

// pathOf returns the path of the task that has a label set.
func (r *runners) pathOf(set goroutine.Address) string {
	if found := r.bySet[set]; found != nil {
		return found.path
	}
	return ""
}
