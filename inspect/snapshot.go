package inspect

import (
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A snapshot builds the Nodes of tasks. It walks the tree, reads the stacks of the goroutines, and combines them. What it has read from the tree
// before the stacks counts only if it is unchanged afterwards: then it was true when the stacks were read.
type snapshot struct {
	*runners
	stacks stacks
	groups map[groupKey]*group // nil until a task was not found among the stacks
	tasks  map[groupKey]int    // the number of tasks of each group; set with groups
	now    time.Duration       // when the stacks were read, as a time since seenFrom
	moment scope.Moment        // the same, for ages
	waitGraph
	semaphores
}

// takeSnapshot returns the given tasks with everything that runs below them. With others, it also returns the calls of Blocking that have no
// task above.
func takeSnapshot(tops []*scope.Node, others bool) []Node {
	scope.Watched.Store(true)
	begun := time.Since(seenFrom)
	s := &snapshot{runners: collectRunners(tops, others)}
	places.Lock()
	defer places.Unlock()
	s.stacks = takeStacks(s.runners)
	s.now, s.moment = time.Since(seenFrom), scope.Now()
	all := s.nodes(&s.tops)
	s.findJams()
	s.markDeadlocks(all)
	lastSeenPlaces.forget(begun, s.now, others)
	s.release()
	return all
}

// nodes returns the Nodes below a runner, except for those that have ended since.
func (s *snapshot) nodes(above *runner) []Node {
	nodes := make([]Node, 0, above.tasks)
	for one := above.below; one != nil; one = one.next {
		if !one.ended() {
			nodes = nodes[:len(nodes)+1]
			s.describe(&nodes[len(nodes)-1], one)
		}
	}
	return nodes
}

// describe fills in n, the Node of a runner.
func (s *snapshot) describe(n *Node, one *runner) {
	n.Name, n.Path, n.State = one.path[one.name:], one.path, one.state
	n.n, n.call = one.n, one.call
	if one.call != nil {
		n.ID, n.Kind, n.Age = one.call.ID, blockingName, one.call.Age(s.moment)
		if one.call.IsAbandoned() {
			n.State = "abandoned"
		}
	} else {
		n.ID, n.Kind, n.Age = one.n.ID(), scope.KindNames[one.n.Kind()], one.n.Age(s.moment)
	}
	if one.tasks > 0 {
		n.Tasks = s.nodes(one)
	}
	identity := s.wait(n, one)
	n.unchanged, n.Wait.Snapshots = lastSeenPlaces.seen(n, identity, s.now)
	if identity != (waitIdentity{}) {
		n.Wait.Seen = n.unchanged
	}
	if n.Age > 0 {
		n.Wait.Seen = min(n.Wait.Seen, n.Age)
	}
}

// wait determines what a task waits for, and identifies the wait.
func (s *snapshot) wait(n *Node, one *runner) waitIdentity {
	if one.kind == beginsSource {
		n.Wait = s.streamWait(n, one)
		return waitIdentity{}
	}
	if one.stack == nil {
		if one.kind == beginsTask && !one.started {
			n.Wait.For = "start"
		} else {
			n.Wait = s.groupWait(one.group())
		}
		return waitIdentity{}
	}
	s.setWait(n, one)
	w := &n.Wait
	if one.inner != (goroutine.Address{}) {
		w.For, w.On = "task", s.pathOf(one.inner)
		return w.identity(nil, one.inner)
	}
	if w.For == "stream" {
		w.On = n.Awaited()
	}
	kind := one.stack.waiter
	if kind == scope.NoWaiter {
		return w.identity(nil, goroutine.Address{})
	}
	waiter := s.waiter(one, kind)
	s.detail(n, waiter)
	return w.identity(waiter, goroutine.Address{})
}

// setWait sets the stack of n, and what it waits for according to the stack.
func (s *snapshot) setWait(n *Node, one *runner) {
	n.stack, n.Wait = one.stack, one.stack.wait
	n.Wait.narrow(s.stacks.dialing)
}

// groupWait describes a task whose goroutine was not found: it has other labels, or its stack is too deep, or the addresses of label sets are
// not known on this version of Go.
func (s *snapshot) groupWait(key groupKey) Wait {
	if s.groups == nil {
		s.tasks = sizesOfGroups()
		s.groups = takeGroups()
	}
	if g := s.groups[key]; g != nil {
		return g.wait(s.tasks[key])
	}
	return Wait{For: "unknown"}
}

// streamWait returns what a stream waits for; the stack is that of its source.
func (s *snapshot) streamWait(n *Node, one *runner) Wait {
	stream := n.n.Stream()
	if stream == nil {
		return Wait{For: "tasks"}
	}
	reason, on := stream.Waits()
	if reason == "rate" {
		return Wait{For: reason, Until: s.soonest(n.n)}
	}
	if reason != "source" || one.stack == nil {
		return Wait{For: reason, On: on}
	}
	s.setWait(n, one)
	w := n.Wait
	switch {
	case one.inner != (goroutine.Address{}):
		w.For, w.On = "task", s.pathOf(one.inner)
	case w.For == "source": // it has yielded a value that has not started yet
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

// waiter returns the waiter inside this module of a task's goroutine, at a wait of the given kind. It is nil unless it is certain: there is
// exactly one such waiter, it waited before the stacks were read and still does, and no goroutine that the task started may be at such a wait. A
// waiter for the end of a task may have been found twice.
func (s *snapshot) waiter(one *runner, kind scope.WaiterKind) (found scope.Waiter) {
	if s.stacks.waits[waiterKey{one.labels.Address(), kind}] {
		return nil
	}
	for _, w := range one.waiters {
		switch {
		case w.Kind() != kind || !w.StillWaits():
		case found != nil && found != w:
			return nil
		default:
			found = w
		}
	}
	return found
}

// detail adds what a waiter inside this module knows about its wait.
func (s *snapshot) detail(n *Node, waiter scope.Waiter) {
	w := &n.Wait
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

// A timed waiter knows when its wait ends; zero is unknown.
type timed interface{ Until() time.Time }

// soonest returns when the first task that sleeps with n's ctx wakes up.
func (s *snapshot) soonest(n *scope.Node) (soonest time.Time) {
	var l scope.Lists
	n.Waiting(&l)
	for _, w := range l.Elsewhere {
		l.Waiters = append(l.Waiters, w.Waiter)
	}
	for _, w := range l.Waiters {
		if w, ok := w.(timed); ok {
			if until := w.Until(); soonest.IsZero() || !until.IsZero() && until.Before(soonest) {
				soonest = until
			}
		}
	}
	return soonest
}

// Awaited returns the path of the item whose result the loop over n's stream receives next. If that is not known, as for an unordered stream, it
// returns the path of the stream. It is empty if n has no stream, or more than one.
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
