package meanwhile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// A painter makes Nodes of tasks. It walks the tree, looks at the goroutines, and puts the two together. What it saw in the
// tree before the look counts only if it is still there afterwards: then it was at the moment of the look.
type painter struct {
	look  *look
	now   time.Time                 // when that was taken
	paths map[uint32]string         // by number; empty for a number that two tasks have
	waits map[*node][]waiter        // what was seen to wait inside this package with the ctx of each task, before the look
	calls map[*node][]*blockingCall // by the nearest task above that has not ended
	waitGraph
}

// picture returns the given tasks with all that runs below them, and the calls of Blocking that no task is above if others
// are wanted.
func picture(tops []*node, others bool) []Node {
	watched.Store(true)
	begun := time.Now()
	p := &painter{paths: make(map[uint32]string, runtime.NumGoroutine()), waits: make(map[*node][]waiter), calls: callsByTask()}
	all := make([]Node, 0, len(tops)+len(p.calls[nil]))
	for _, n := range tops {
		all = append(all, p.sketch(n, n.path()))
	}
	if others {
		all = p.sketchCalls(all, nil)
	}
	places.Lock()
	defer places.Unlock()
	p.look, p.now = takeLook(), time.Now()
	if p.look.cut && p.misses(all) {
		p.look = takeDeepLook()
	}
	all = p.paint(all)
	p.markDeadlocks(all)
	sightings.forget(begun, others)
	return all
}

// sketch walks the tree below n.
func (p *painter) sketch(n *node, path string) Node {
	seen := Node{ID: n.mark.id(), Name: n.label(), Path: path, Kind: kindNames[n.kind()], State: "running", n: n}
	p.know(seen.ID, path)
	seen.Age = age(atomic.LoadUint32(&n.begun))
	var below []*node
	n.mu.Lock()
	switch {
	case n.canceled.Load() != nil:
		seen.State = "canceled"
	case n.is(isJoining):
		seen.State = "joining"
	}
	below = n.children(below)
	if n.after != nil {
		p.waits[n] = n.waiters(nil)
	}
	n.mu.Unlock()
	if count := len(below) + len(p.calls[n]); count > 0 {
		seen.Tasks = make([]Node, 0, count)
	}
	for _, k := range slices.Backward(below) {
		if k.kind() != kindItem || k.number.Load() != 0 {
			seen.Tasks = append(seen.Tasks, p.sketch(k, path+"/"+k.label()))
		}
	}
	if n.kind() == kindStream {
		slices.SortFunc(seen.Tasks, byIndex)
	}
	seen.Tasks = p.sketchCalls(seen.Tasks, n)
	return seen
}

// byIndex orders the items of a stream by their names, [9] before [10]. The tree has them in the order of their workers,
// each of which takes the next value as it comes.
func byIndex(a, b Node) int {
	return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

func (p *painter) sketchCalls(list []Node, n *node) []Node {
	for _, c := range p.calls[n] {
		seen := Node{ID: c.id, Name: "blocking", Path: "blocking", Kind: "blocking", State: "running", Age: age(c.begun), call: c}
		if c.caller != nil {
			seen.Path = c.caller.path() + "/blocking"
		}
		p.know(seen.ID, seen.Path)
		list = append(list, seen)
	}
	return list
}

func (p *painter) know(id uint32, path string) {
	if _, twice := p.paths[id]; twice {
		path = ""
	}
	p.paths[id] = path
}

// misses reports whether the look did not find all that was sketched.
func (p *painter) misses(nodes []Node) bool {
	for i := range nodes {
		n := &nodes[i]
		if _, ok := p.look.stacks[n.ID]; !ok && n.Kind != kindNames[kindStream] && !n.gone() || p.misses(n.Tasks) {
			return true
		}
	}
	return false
}

// gone reports whether the task has ended, or the item is another.
func (n *Node) gone() bool {
	switch {
	case n.call != nil:
		return n.call.over.Load()
	case n.n.kind() == kindItem:
		return n.n.is(isFinished) || n.n.label() != n.Name
	}
	return n.n.is(isFinished)
}

// paint adds what the look saw, and leaves out what has ended meanwhile.
func (p *painter) paint(nodes []Node) []Node {
	kept := nodes[:0]
	for _, n := range nodes {
		if n.gone() {
			continue
		}
		n.Tasks = p.paint(n.Tasks)
		if n.Wait = p.wait(&n); n.Wait.For == idle {
			continue
		}
		n.Wait.Seen = sightings.seen(n.ID, n.Wait.For, n.stack, p.now)
		if n.Age > 0 {
			n.Wait.Seen = min(n.Wait.Seen, n.Age)
		}
		kept = append(kept, n)
	}
	return kept
}

// wait says what a task waits for.
func (p *painter) wait(n *Node) Wait {
	s := p.look.stacks[n.ID]
	if p.paths[n.ID] == "" {
		s = nil
	}
	if n.call != nil && n.call.abandoned.Load() {
		n.State = "abandoned"
	}
	if n.n != nil && n.n.kind() == kindStream {
		return p.streamWait(n, s)
	}
	if s == nil {
		if _, twice := p.look.stacks[n.ID]; n.n != nil && n.n.kind() == kindTask && !p.look.cut && !twice {
			return Wait{For: "start"}
		}
		return Wait{For: "unknown"}
	}
	n.stack = s.calls
	w := waitOf(s.calls)
	if s.outer {
		w.For, w.On = "task", p.paths[s.inner]
		return w
	}
	if w.For == "stream" {
		w.On = n.awaited()
	}
	if s.parks {
		p.detail(n, p.waiter(n.n, s.wait), &w)
	}
	return w
}

// streamWait says what a stream waits for; s is the stack of its source.
func (p *painter) streamWait(n *Node, s *stack) Wait {
	stream := n.n.stream()
	if stream == nil {
		return Wait{For: "tasks"}
	}
	reason, on := stream.waits()
	if reason == "rate" {
		return Wait{For: reason, Until: p.soonest(n.n)}
	}
	if reason != "source" || s == nil {
		return Wait{For: reason, On: on}
	}
	n.stack = s.calls
	w := waitOf(s.calls)
	switch {
	case s.outer:
		w.For, w.On = "task", p.paths[s.inner]
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

// waiter is the one with the number among those that have n's ctx, or nil.
func (p *painter) waiter(n *node, number uint32) (found waiter) {
	for _, w := range p.waits[n] {
		switch {
		case w.number() != number:
		case found != nil:
			return nil
		default:
			found = w
		}
	}
	return found
}

// detail adds what a wait inside this package knows of itself.
func (p *painter) detail(n *Node, waiter waiter, w *Wait) {
	switch waiter := waiter.(type) {
	case *sleeper:
		w.Until = waiter.until()
	case *joiner:
		w.On = waiter.target.path()
		p.waitsFor(n.n, waiter.target)
	case *acquirer:
		w.On = waiter.s.describe()
	}
}

// soonest is when the first of those that sleep with n's ctx will wake up.
func (p *painter) soonest(n *node) (soonest time.Time) {
	n.mu.Lock()
	waiters := n.waiters(nil)
	n.mu.Unlock()
	for _, w := range waiters {
		if s, ok := w.(*sleeper); ok {
			if until := s.until(); soonest.IsZero() || until.Before(soonest) {
				soonest = until
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

// describe says how much of s is held, and where it was made.
func (s *Semaphore) describe() string {
	s.mu.Lock()
	held, size := s.held, s.size
	s.mu.Unlock()
	text := strconv.Itoa(held) + " of " + strconv.Itoa(size) + " held"
	if s.made[0] != 0 {
		f := at(s.made[0])
		text += fmt.Sprintf(", made at %s:%d", filepath.Base(f.File), f.Line)
	}
	return text
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
