package inspect

import (
	"cmp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A snapshot makes Nodes of tasks. It walks the tree, reads the stacks of the goroutines, and puts the two together. What it
// found in the tree before counts only if it is still there afterwards: then it was at the moment of the stacks.
type snapshot struct {
	runners runners
	stacks  stacks
	groups  map[groupKey]*group                   // nil until a task was not found among the stacks
	tasks   map[groupKey]int                      // how many there are; made with groups
	now     time.Time                             // when the stacks were read
	waits   map[goroutine.Address][]scope.Waiter  // what waited inside this package before that, by the goroutine's label set
	calls   map[*scope.Node][]*scope.BlockingCall // by the nearest task above that has not ended
	waitGraph
	semaphores
}

// takeSnapshot returns the given tasks with all that runs below them, and the calls of Blocking that no task is above if
// others are wanted.
func takeSnapshot(tops []*scope.Node, others bool) []Node {
	scope.Watched.Store(true)
	begun := time.Now()
	s := &snapshot{
		runners: newRunners(runtime.NumGoroutine()), waits: make(map[goroutine.Address][]scope.Waiter), calls: scope.CallsByTask(),
	}
	all := make([]Node, 0, len(tops)+len(s.calls[nil]))
	for _, n := range tops {
		all = append(all, s.collect(n, n.Path()))
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
	lastSeenPlaces.forget(begun, others)
	return all
}

// collect walks the tree below n.
func (s *snapshot) collect(n *scope.Node, path string) Node {
	seen := Node{ID: n.ID(), Name: n.Label(), Path: path, Kind: scope.KindNames[n.Kind()], State: "running", n: n}
	r := runner{kind: beginningOf(n.Kind()), n: n, path: path, started: n.Is(scope.IsStarted)}
	seen.Age = n.Age()
	v := n.Inspect(s.waits)
	switch {
	case v.Canceled:
		seen.State = "canceled"
	case v.Joining:
		seen.State = "joining"
	}
	r.outer = v.Outer
	s.runners.add(n.Labels, r)
	if count := len(v.Below) + len(s.calls[n]); count > 0 {
		seen.Tasks = make([]Node, 0, count)
	}
	for _, k := range slices.Backward(v.Below) {
		seen.Tasks = append(seen.Tasks, s.collect(k, path+"/"+k.Label()))
	}
	if n.Kind() == scope.KindStream {
		slices.SortFunc(seen.Tasks, byIndex)
	}
	seen.Tasks = s.collectCalls(seen.Tasks, n)
	return seen
}

// byIndex orders the items of a stream by their names, [9] before [10]. The tree has them as they were started.
func byIndex(a, b Node) int {
	return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

func (s *snapshot) collectCalls(list []Node, n *scope.Node) []Node {
	for _, c := range s.calls[n] {
		seen := Node{ID: c.ID, Name: "blocking", Path: "blocking", Kind: "blocking", State: "running", Age: c.Age(), call: c}
		if c.Caller != nil {
			seen.Path = c.Caller.Path() + "/blocking"
		}
		s.runners.add(c.Labels, runner{kind: beginsBlocking, path: seen.Path})
		list = append(list, seen)
	}
	return list
}

// ended reports whether the task has ended, or the call.
func (n *Node) ended() bool {
	if n.call != nil {
		return n.call.HasEnded()
	}
	return n.n.Is(scope.IsFinished)
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
		n.unchanged, n.Wait.Snapshots = lastSeenPlaces.seen(&n, s.now)
		if n.wait != (waitIdentity{}) {
			n.Wait.Seen = n.unchanged
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
		if n.call.IsAbandoned() {
			n.State = "abandoned"
		}
		return s.taskWait(n, n.call.Labels, beginsBlocking)
	}
	if n.n.Kind() == scope.KindStream {
		return s.streamWait(n, s.runners.stackOf(n.n.Labels))
	}
	return s.taskWait(n, n.n.Labels, beginningOf(n.n.Kind()))
}

func (s *snapshot) taskWait(n *Node, labels *goroutine.Set, kind beginning) Wait {
	one := s.runners.bySet[labels.Address()]
	found := one.stack
	if found == nil {
		if kind == beginsTask && !one.started {
			return Wait{For: "start"}
		}
		return s.groupWait(groupKey{scope.NamePath(labels.Labels()), kind})
	}
	n.stack = found.calls
	w := waitOf(found.calls)
	w.narrow(s.stacks.dialing)
	if found.inner != (goroutine.Address{}) {
		w.For, w.On = "task", s.runners.pathOf(found.inner)
		n.wait = w.Identity(nil, found.inner)
		return w
	}
	n.wait = w.Identity(nil, goroutine.Address{})
	if w.For == "stream" {
		w.On = n.Awaited()
	}
	if kind := waiterFor(w.For); kind != scope.NoWaiter {
		waiter := s.waiter(waiterKey{labels.Address(), kind})
		n.wait = w.Identity(waiter, goroutine.Address{})
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
	stream := n.n.Stream()
	if stream == nil {
		return Wait{For: "tasks"}
	}
	reason, on := stream.Waits()
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
// goroutine that the task started may be at a wait of the kind. One that waits for the end of a task may have been found twice.
func (s *snapshot) waiter(key waiterKey) (found scope.Waiter) {
	if s.stacks.waits[key] {
		return nil
	}
	for _, w := range s.waits[key.set] {
		switch {
		case w.Kind() != key.WaiterKind || !w.StillWaits():
		case found != nil && found != w:
			return nil
		default:
			found = w
		}
	}
	return found
}

// detail adds what a wait inside this package knows of itself.
func (s *snapshot) detail(n *Node, waiter scope.Waiter, w *Wait) {
	switch waiter := waiter.(type) {
	case timed:
		w.Until = waiter.Until()
	case *scope.EndWaiter:
		w.On = waiter.Target().Path()
		s.waitsFor(n.n, waiter)
	case *scope.SemWaiter:
		if w.For == "limit" {
			w.On = strconv.Itoa(waiter.S.State().Size)
			break
		}
		w.On = s.semaphore(n.n, waiter)
	}
}

// A timed waiter knows until when it waits; zero is not known.
type timed interface{ Until() time.Time }

// soonest is when the first of those that sleep with n's ctx will wake up.
func (s *snapshot) soonest(n *scope.Node) (soonest time.Time) {
	waiting := make(map[goroutine.Address][]scope.Waiter)
	n.Waiting(waiting)
	for _, list := range waiting {
		for _, w := range list {
			if w, ok := w.(timed); ok {
				if until := w.Until(); soonest.IsZero() || !until.IsZero() && until.Before(soonest) {
					soonest = until
				}
			}
		}
	}
	return soonest
}

// Awaited is the item that the loop over a stream waits for, if there is one stream.
func (n *Node) Awaited() string {
	item := ""
	for i := range n.Tasks {
		k := &n.Tasks[i]
		if k.Kind != scope.KindNames[scope.KindStream] {
			continue
		}
		if item != "" {
			return ""
		}
		item = k.Path
		if stream := k.n.Stream(); stream != nil {
			if next := stream.Awaited(); next != "" {
				item += "/" + next
			}
		}
	}
	return item
}
