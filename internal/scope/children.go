package scope

import (
	"context"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// children is the part of a task that only tasks with child tasks need. The task's mu guards it.
type children struct {
	below      childCount
	first      *Node          // the newest, linked by next; ended ones are removed now and then
	joined     sync.WaitGroup // done when the last of them has ended, see Join; a sixth of a channel's size
	dismissed  bool           // the background tasks are canceled, and waited for like the others
	background uint32         // tasks that the end of the function need not wait for
	started    uint32         // tasks ever started
	number     uint32         // the last process-wide number given to a child; those that refill has reserved follow it
	sets       []goroutine.Set
	labels     *labelCache     // nil until it is needed
	scope      *Scope          // that they belong to; nil for those of a task, item or stream
	base       context.Context // of a task whose base is not its parent
	top        *Node           // see Node.top; of the tasks below
}

// refill reserves process-wide numbers and label sets for the next count tasks.
func (f *children) refill(count uint32) { f.number, f.sets = reserve(count) }

// identify gives n a number and labels.
func (f *children) identify(n *Node, labels []goroutine.Label) {
	f.number++
	n.ident |= newIdent(f.number, 0)
	n.Labels = &f.sets[0]
	n.Labels.Fill(labels)
	f.sets = f.sets[1:]
}

// crowded reports whether a sweep is worthwhile: when it would remove more than three times as many tasks as it leaves, or when no task
// is live. The latter does not apply to a stream: there the last item often ends before the next one starts, and an item that has ended
// holds nothing any more.
func (n *Node) crowded(c count) bool {
	live, listed := c.live(), c.listed()
	return listed > 4*live+32 || live == 0 && listed > 0 && n.Kind() != KindStream
}

// Listed returns how many tasks are in n's list, including ended ones.
func (n *Node) Listed() (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k := n.childTasks.first; k != nil; k = k.next {
		count++
	}
	return count
}

// link makes n a child of p. callers identifies labels that n's ctx adds to those of p.
func (n *Node) link(p *Node, callers any) {
	n.begun = began() // before the lock, since it may read the clock
	p.mu.Lock()
	f := p.ownChildren()
	if f.scope == nil { // a scope does not end early
		flags := p.flags.Load()
		if flags&hasTasks == 0 {
			flags = p.flags.Or(hasTasks)
		}
		if flags&isClosed != 0 {
			p.refuse()
		}
	}
	isBackground := n.Is(IsBackground)
	if isBackground { // before it is counted, see unlink
		f.background++
		p.flags.Or(hasBackground)
	}
	below, ok := f.below.enter()
	if !ok {
		p.refuse()
	}
	if f.top == nil {
		f.top = p.top()
	}
	f.started++
	if n.Kind() != KindItem { // whose number comes from its index
		n.Number = f.started
	}
	if len(f.sets) == 0 {
		f.refill(max(1, min(f.started, maxReserve))) // f.started wraps around after four billion tasks
	}
	f.identify(n, f.labelsBelow(p, n, callers))
	n.next = f.first
	f.first = n
	c := p.canceled.Load()
	if isBackground && f.dismissed && c == nil {
		c = dismissal(p)
	}
	if p.crowded(below) {
		f.sweep()
	}
	p.mu.Unlock()
	switch {
	case c == nil:
	case n.Kind() == KindShield:
		n.startGrace(c)
	default:
		n.Cancel(c)
	}
}

// refuse panics because n has ended, and no task can be started below it any more. The caller holds mu, which refuse unlocks.
func (n *Node) refuse() {
	n.mu.Unlock()
	panic("meanwhile: a task was started after " + n.String() + " ended: " +
		"a ctx must not outlive its function; start the task before the function returns, or pass the ctx of a scope that lives on")
}

// maxReserve is the largest number of tasks for which a parent reserves numbers and label sets at once. The more tasks a parent has
// started, the more it reserves, so that parents that start many do not contend for one counter.
const maxReserve = 16

// ownChildren returns n's children, and creates them if necessary; the caller holds mu, or n is not shared yet.
func (n *Node) ownChildren() *children {
	if n.childTasks == nil {
		n.childTasks = new(children)
	}
	return n.childTasks
}

// unlink removes n, which has finished, from its parent, and ends the parent's wait if n was the last.
func (n *Node) unlink() {
	p := n.Parent
	if p == nil {
		return
	}
	f := p.childTasks
	if n.Is(hasPlace) {
		f.scope.Limit.Release(1)
	}
	if n.Is(IsBackground) {
		p.mu.Lock()
		f.background--
		p.mu.Unlock()
	}
	below := f.below.leave()
	switch {
	case below.isClosed():
		f.joined.Done()
	case below.isJoining() && p.Is(hasBackground):
		// Either this sees the flag, or the background task entered after this one had left; then another task that p waits for has not
		// left yet, and sees the flag.
		p.dismiss()
	case p.crowded(below):
		p.mu.Lock()
		if p.crowded(f.below.load()) {
			f.sweep()
		}
		p.mu.Unlock()
	}
}

// sweep removes the ended tasks from the list.
func (f *children) sweep() {
	var out uint32
	link := &f.first
	for k := *link; k != nil; k = *link {
		if k.Is(IsFinished) {
			*link, k.next = k.next, nil
			out++
		} else {
			link = &k.next
		}
	}
	f.below.unlist(out)
}

// children appends to the list the tasks below that have not ended, the newest first; the caller holds mu.
func (n *Node) children(list []*Node) []*Node {
	if n.childTasks == nil {
		return list
	}
	for k := n.childTasks.first; k != nil; k = k.next {
		if !k.Is(IsFinished) {
			list = append(list, k)
		}
	}
	return list
}

// live returns how many tasks below have not ended; the caller holds mu.
func (n *Node) live() uint32 {
	if n.childTasks == nil {
		return 0
	}
	return n.childTasks.below.load().live()
}

// IsJoining reports whether the function of n has returned and n waits for the tasks below.
func (n *Node) IsJoining() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isJoining()
}

func (n *Node) isJoining() bool {
	if n.childTasks == nil {
		return false
	}
	below := n.childTasks.below.load()
	return below.isJoining() && !below.isClosed()
}

// Join waits for the tasks below. When only background tasks are left, it cancels them, and waits for them, too. Afterwards no task can be started
// below n. The last task to leave ends the wait, without the mutex. Join is called once, by n's goroutine.
func (n *Node) Join() {
	f := n.childTasks
	if f == nil { // a stream without items
		n.flags.Or(isClosed)
		return
	}
	f.joined.Add(1)
	below := f.below.join()
	if !below.isClosed() {
		if n.Is(hasBackground) {
			n.dismiss()
		}
		f.joined.Wait()
	}
	if below.listed() > 0 {
		n.forget()
	}
}

// dismiss cancels the background tasks if no others are left. Tasks that are started below from then on are background tasks, too.
func (n *Node) dismiss() {
	n.mu.Lock()
	f := n.childTasks
	if f.dismissed || f.below.load().live() > f.background {
		n.mu.Unlock()
		return
	}
	f.dismissed = true
	background := n.children(nil)
	n.mu.Unlock()
	c := dismissal(n)
	for _, k := range background {
		k.Cancel(c)
	}
}

func dismissal(scope *Node) *cancellation {
	return &cancellation{err: context.Canceled, Cause: errScopeEnded, from: scope}
}

// forget empties the list of the tasks below, which have all ended, so that neither n's ctx nor one of them keeps the others in memory.
func (n *Node) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.childTasks
	for k := f.first; k != nil; {
		k, k.next = k.next, nil
	}
	f.first = nil
}
