package scope

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// children are what a task has that others are below. The task's mu guards it.
type children struct {
	below      childCount
	first      *Node          // the newest, linked by next; ended ones among them are taken out now and then
	joined     sync.WaitGroup // done when they have ended; a sixth of a channel's size
	waits      bool           // the function waits for joined
	dismissed  bool           // it waits for the background tasks as well, which are canceled
	closed     bool           // all have ended, and none can be started any more: does for the flag isClosed
	background uint32         // tasks that the end of the function need not wait for
	started    uint32         // tasks ever started
	number     uint32         // the last in the process that was given to one; those of refill follow it
	sets       []goroutine.Set
	labels     *labelCache     // nil until it is needed
	scope      *Scope          // whose children they are; nil for those of a task, item or stream
	base       context.Context // of a task whose base is not its parent
	top        *Node           // see Node.top; of the tasks below
}

// refill sets aside what count tasks to come need: numbers in the process, and label sets. One object is made for several
// sets, none of which points to its task.
func (f *children) refill(count uint32) {
	f.number = lastID.Add(count) - count
	f.sets = make([]goroutine.Set, count)
}

// identify gives n its number and its labels.
func (f *children) identify(n *Node, labels []goroutine.Label) {
	f.number++
	n.ident |= newIdent(f.number, 0)
	n.Labels = &f.sets[0]
	n.Labels.Fill(labels)
	f.sets = f.sets[1:]
}

// A childCount counts what is below a task, in one word: the tasks that have not ended, and those in the list, where ended
// ones stay for a while. To leave, a task only counts itself out; who finds the list to be mostly of ended tasks takes
// them out. That way the end of a task needs no lock that the start of others holds.
type childCount struct{ packed atomic.Uint64 }

const oneListed = 1 << 32

func (t *childCount) load() (live, listed uint32) { return split(t.packed.Load()) }

func split(word uint64) (live, listed uint32) { return uint32(word), uint32(word >> 32) }

func (t *childCount) enter() (live, listed uint32) { return split(t.packed.Add(oneListed + 1)) }

func (t *childCount) leave() (live, listed uint32) { return split(t.packed.Add(^uint64(0))) }

// unlist takes count out of the list. Its caller holds the lock under which tasks enter.
func (t *childCount) unlist(count uint32) { t.packed.Add(-uint64(count) * oneListed) }

// crowded says when sweeping pays: it takes out three times what it leaves. When the last task has ended none is kept, but below
// a stream: there the last item often ends before the next one starts, and holds nothing any more.
func (n *Node) crowded(live, listed uint32) bool {
	return listed > 4*live+32 || live == 0 && listed > 0 && n.Kind() != KindStream
}

// Listed is how many tasks the list of n has, the ended ones among them included.
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
	n.begun = began() // before the lock, for it may ask the clock
	p.mu.Lock()
	f := p.ownChildren()
	flags := p.flags.Load()
	if flags&hasTasks == 0 && f.scope == nil { // a scope does not end early
		flags = p.flags.Or(hasTasks)
	}
	if flags&isClosed != 0 || f.closed {
		p.mu.Unlock()
		panic("meanwhile: a task was started after " + p.String() + " ended: " +
			"a ctx must not outlive its function; start the task before the function returns, or pass the ctx of a scope that lives on")
	}
	if f.top == nil {
		f.top = p.top()
	}
	f.started++
	if n.Kind() != KindItem { // which has its index
		n.Number = f.started
	}
	if len(f.sets) == 0 {
		f.refill(max(1, min(f.started, maxReserve))) // f.started begins anew after four billion tasks
	}
	f.identify(n, f.labelsBelow(p, n, callers))
	n.next = f.first
	f.first = n
	c := p.canceled.Load()
	if n.Is(IsBackground) {
		f.background++
		p.flags.Or(hasBackground)
		if f.dismissed && c == nil {
			c = dismissal(p)
		}
	}
	if live, listed := f.below.enter(); p.crowded(live, listed) {
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

// maxReserve is for how many tasks a parent sets aside what they need at most. It is the more the more tasks it has started, so
// that those who start many do not meet at one counter.
const maxReserve = 16

// kin returns n's family and makes it if need be; the caller holds mu, or nobody else knows n.
func (n *Node) ownChildren() *children {
	if n.childTasks == nil {
		n.childTasks = new(children)
	}
	return n.childTasks
}

// unlink takes n, which is finished, out of its parent, which may wait for that.
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
	live, listed := f.below.leave()
	// The flag is set before the parent reads the count, and read after the count was changed: one of the two sees
	// the other.
	flags := p.flags.Load()
	joined := flags&IsJoining != 0 && (live == 0 || flags&hasBackground != 0)
	if !joined && !p.crowded(live, listed) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if live, listed = f.below.load(); p.crowded(live, listed) {
		f.sweep()
	}
	if joined {
		p.tellJoined()
	}
}

// sweep takes the ended tasks out of the list.
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

// waitedFor is how many of the tasks below the function waits for.
func (f *children) waitedFor() uint32 {
	live, _ := f.below.load()
	if f.dismissed {
		return live
	}
	return live - f.background
}

// tellJoined wakes the function when none is left that it waits for. When none is left at all, no task can be started below n
// any more. The caller holds mu.
func (n *Node) tellJoined() {
	f := n.childTasks
	if !f.waits || f.waitedFor() > 0 {
		return
	}
	f.waits, f.closed = false, n.live() == 0
	f.joined.Done()
}

// children adds the tasks below that have not ended to the list, the newest first; the caller holds mu.
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

// live is how many tasks below have not ended; the caller holds mu.
func (n *Node) live() uint32 {
	if n.childTasks == nil {
		return 0
	}
	live, _ := n.childTasks.below.load()
	return live
}

// Join waits for the tasks below, then cancels the background ones and waits for them. After it no task can be
// started below n.
func (n *Node) Join() {
	n.mu.Lock()
	f := n.childTasks
	for n.live() > 0 {
		n.flags.Or(IsJoining)
		if f.waitedFor() == 0 {
			n.dismiss()
			continue
		}
		f.waits = true
		f.joined.Add(1)
		n.tellJoined()
		n.mu.Unlock()
		f.joined.Wait()
		if f.closed {
			return
		}
		n.mu.Lock()
	}
	n.flags.Or(isClosed)
	n.mu.Unlock()
}

// dismiss cancels the background tasks; from then on the wait is for them as well. The caller holds mu.
func (n *Node) dismiss() {
	n.childTasks.dismissed = true
	background := n.children(nil)
	n.mu.Unlock()
	c := dismissal(n)
	for _, k := range background {
		k.Cancel(c)
	}
	n.mu.Lock()
}

func dismissal(scope *Node) *cancellation {
	return &cancellation{err: context.Canceled, Cause: errScopeEnded, from: scope}
}
