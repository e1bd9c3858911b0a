package meanwhile

import (
	"cmp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A snapshot makes Nodes of tasks. It walks the tree, reads the stacks of the goroutines, and puts the two together. What it
// found in the tree before counts only if it is still there afterwards: then it was at the moment of the stacks.
type snapshot struct {
	runners runners
	stacks  stacks
	groups  map[groupKey]*group            // nil until a task was not found among the stacks
	tasks   map[groupKey]int               // how many there are; made with groups
	now     time.Time                      // when the stacks were read
	waits   map[goroutine.Address][]waiter // what waited inside this package before that, by the goroutine's label set
	calls   map[*node][]*blockingCall      // by the nearest task above that has not ended
	waitGraph
	semaphores
}

// takeSnapshot returns the given tasks with all that runs below them, and the calls of Blocking that no task is above if
// others are wanted.
func takeSnapshot(tops []*node, others bool) []Node {
	watched.Store(true)
	begun := time.Now()
	s := &snapshot{
		runners: newRunners(runtime.NumGoroutine()), waits: make(map[goroutine.Address][]waiter), calls: callsByTask(),
	}
	all := make([]Node, 0, len(tops)+len(s.calls[nil]))
	for _, n := range tops {
		all = append(all, s.collect(n, n.path()))
	}
	if others {
		all = s.collectCalls(all, nil)
	}
	places.Lock()
	defer places.Unlock()
	s.stacks, s.now = takeStacks(&s.runners), time.Now()
	all = s.describeAll(all)
	s.findJams()
	s.markDeadlocks(all)
	sightings.forget(begun, others)
	return all
}

// collect walks the tree below n.
func (s *snapshot) collect(n *node, path string) Node {
	seen := Node{ID: n.ident.id(), Name: n.label(), Path: path, Kind: kindNames[n.kind()], State: "running", n: n}
	r := runner{kind: n.kind().begins(), n: n, path: path, started: n.is(isStarted)}
	seen.Age = age(n.begun)
	var below []*node
	n.mu.Lock()
	switch {
	case n.canceled.Load() != nil:
		seen.State = "canceled"
	case n.is(isJoining):
		seen.State = "joining"
	}
	n.waiters(s.waits)
	if f := n.family; f != nil {
		f.sweep() // ended tasks, which the runtime's leak profile would take for reachable
		below = n.children(below)
		if f.scope != nil {
			r.outer = f.scope.outer
		}
	}
	n.mu.Unlock()
	s.runners.add(n.labels, r)
	if count := len(below) + len(s.calls[n]); count > 0 {
		seen.Tasks = make([]Node, 0, count)
	}
	for _, k := range slices.Backward(below) {
		seen.Tasks = append(seen.Tasks, s.collect(k, path+"/"+k.label()))
	}
	if n.kind() == kindStream {
		slices.SortFunc(seen.Tasks, byIndex)
	}
	seen.Tasks = s.collectCalls(seen.Tasks, n)
	return seen
}

// byIndex orders the items of a stream by their names, [9] before [10]. The tree has them as they were started.
func byIndex(a, b Node) int {
	return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

func (s *snapshot) collectCalls(list []Node, n *node) []Node {
	for _, c := range s.calls[n] {
		seen := Node{ID: c.id, Name: "blocking", Path: "blocking", Kind: "blocking", State: "running", Age: age(c.begun), call: c}
		if c.caller != nil {
			seen.Path = c.caller.path() + "/blocking"
		}
		s.runners.add(c.labels, runner{kind: beginsBlocking, path: seen.Path})
		list = append(list, seen)
	}
	return list
}

// ended reports whether the task has ended, or the call.
func (n *Node) ended() bool {
	if n.call != nil {
		return n.call.state.Load()&callEnded != 0
	}
	return n.n.is(isFinished)
}

// describeAll adds what the goroutines did, and leaves out what has ended meanwhile.
func (s *snapshot) describeAll(nodes []Node) []Node {
	kept := nodes[:0]
	for _, n := range nodes {
		if n.ended() {
			continue
		}
		n.Tasks = s.describeAll(n.Tasks)
		n.Wait = s.wait(&n)
		n.here, n.Wait.Snapshots = sightings.seen(&n, s.now)
		if n.wait != (waitIdentity{}) {
			n.Wait.Seen = n.here
		}
		if n.Age > 0 {
			n.Wait.Seen = min(n.Wait.Seen, n.Age)
		}
		kept = append(kept, n)
	}
	return kept
}

// wait returns what a task waits for.
func (s *snapshot) wait(n *Node) Wait {
	if n.call != nil {
		if n.call.state.Load()&callAbandoned != 0 {
			n.State = "abandoned"
		}
		return s.taskWait(n, n.call.labels, beginsBlocking)
	}
	if n.n.kind() == kindStream {
		return s.streamWait(n, s.runners.stackOf(n.n.labels))
	}
	return s.taskWait(n, n.n.labels, n.n.kind().begins())
}

func (s *snapshot) taskWait(n *Node, labels *goroutine.Set, kind beginning) Wait {
	one := s.runners.bySet[labels.Address()]
	found := one.stack
	if found == nil {
		if kind == beginsTask && !one.started {
			return Wait{For: "start"}
		}
		return s.groupWait(groupKey{namePath(labels.Labels()), kind})
	}
	n.stack = found.calls
	w := waitOf(found.calls)
	w.narrow(s.stacks.dialing)
	if found.inner != (goroutine.Address{}) {
		w.For, w.On = "task", s.runners.pathOf(found.inner)
		n.wait = w.identity(nil, found.inner)
		return w
	}
	n.wait = w.identity(nil, goroutine.Address{})
	if w.For == "stream" {
		w.On = n.awaited()
	}
	if kind := waiterFor(w.For); kind != noWaiter {
		waiter := s.waiter(parkedKey{labels.Address(), kind})
		n.wait = w.identity(waiter, goroutine.Address{})
		s.detail(n, waiter, &w)
	}
	return w
}

// groupWait describes a task whose goroutine was not found, because it has other labels, or a stack that is too deep, or
// because label sets cannot be told apart on this version of Go.
func (s *snapshot) groupWait(key groupKey) Wait {
	if s.groups == nil {
		s.groups, s.tasks = takeGroups(), s.runners.count()
	}
	if g := s.groups[key]; g != nil {
		return g.wait(s.tasks[key])
	}
	return Wait{For: "unknown"}
}

// streamWait says what a stream waits for; s is the stack of its source.
func (s *snapshot) streamWait(n *Node, source *stack) Wait {
	stream := n.n.stream()
	if stream == nil {
		return Wait{For: "tasks"}
	}
	reason, on := stream.waits()
	if reason == "rate" {
		return Wait{For: reason, Until: s.soonest(n.n)}
	}
	if reason != "source" || source == nil {
		return Wait{For: reason, On: on}
	}
	n.stack = source.calls
	w := waitOf(source.calls)
	w.narrow(s.stacks.dialing)
	switch {
	case source.inner != (goroutine.Address{}):
		w.For, w.On = "task", s.runners.pathOf(source.inner)
	case w.For == "source": // it has yielded a value that has not been taken yet
		return Wait{For: "running"}
	case w.For == "running":
		return w
	}
	if w.On != "" {
		w.For += " "
	}
	w.For, w.On = "source", w.For+w.On
	return w
}

// waiter is what the goroutine of a task, which does so at a wait of the given kind, waits for inside this package. It is nil
// where that is not certain: there must be one such waiter, which waited before the stacks were read and still does, and no
// goroutine that the task started may be at a wait of the kind. A joiner may have been found twice.
func (s *snapshot) waiter(key parkedKey) (found waiter) {
	if s.stacks.parked[key] {
		return nil
	}
	for _, w := range s.waits[key.set] {
		switch {
		case w.kind() != key.waiterKind || !w.stillParked():
		case found != nil && found != w:
			return nil
		default:
			found = w
		}
	}
	return found
}

// detail adds what a wait inside this package knows of itself.
func (s *snapshot) detail(n *Node, waiter waiter, w *Wait) {
	switch waiter := waiter.(type) {
	case timed:
		w.Until = waiter.until()
	case *joiner:
		w.On = waiter.end.n.path()
		s.waitsFor(n.n, waiter)
	case *acquirer:
		if w.For == "limit" {
			w.On = strconv.Itoa(waiter.s.Size())
			break
		}
		w.On = s.semaphore(n.n, waiter)
	}
}

// A timed waiter knows until when it waits; zero is not known.
type timed interface{ until() time.Time }

// soonest is when the first of those that sleep with n's ctx will wake up.
func (s *snapshot) soonest(n *node) (soonest time.Time) {
	waiting := make(map[goroutine.Address][]waiter)
	n.mu.Lock()
	n.waiters(waiting)
	n.mu.Unlock()
	for _, list := range waiting {
		for _, w := range list {
			if w, ok := w.(timed); ok {
				if until := w.until(); soonest.IsZero() || !until.IsZero() && until.Before(soonest) {
					soonest = until
				}
			}
		}
	}
	return soonest
}

// awaited is the item that the loop over a stream waits for, if there is one stream.
func (n *Node) awaited() string {
	item := ""
	for i := range n.Tasks {
		k := &n.Tasks[i]
		if k.Kind != kindNames[kindStream] {
			continue
		}
		if item != "" {
			return ""
		}
		item = k.Path
		if stream := k.n.stream(); stream != nil {
			if next := stream.awaited(); next != "" {
				item += "/" + next
			}
		}
	}
	return item
}

// callsByTask returns the calls of Blocking by the nearest task above them that has not ended.
func callsByTask() map[*node][]*blockingCall {
	calls := make(map[*node][]*blockingCall)
	blockingCalls.Lock()
	for c := range blockingCalls.all {
		n := c.caller
		for n != nil && n.is(isFinished) {
			n = n.parent()
		}
		calls[n] = append(calls[n], c)
	}
	blockingCalls.Unlock()
	for _, list := range calls {
		slices.SortFunc(list, func(a, b *blockingCall) int { return cmp.Compare(a.id, b.id) })
	}
	return calls
}
