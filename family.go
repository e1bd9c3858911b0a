package meanwhile

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A family is what a task has that others are below. The task's mu guards it.
type family struct {
	below      tally
	first      *node          // the newest, linked by next; ended ones among them are taken out now and then
	joined     sync.WaitGroup // done when they have ended; a sixth of a channel's size
	waits      bool           // the function waits for joined
	dismissed  bool           // it waits for the background tasks as well, which are canceled
	background uint32         // tasks that the end of the function need not wait for
	started    uint32         // tasks ever started
	ids, idEnd uint32         // numbers that are set aside for tasks to come
	labels     labelCache
	scope      *scope // that the family is of; nil for that of a task, item or stream
}

// A tally counts what is below a task, in one word: the tasks that have not ended, and those in the list, where ended
// ones stay for a while. To leave, a task only counts itself out; who finds the list to be mostly of ended tasks takes
// them out. That way the end of a task needs no lock that the start of others holds.
type tally struct{ word atomic.Uint64 }

const oneListed = 1 << 32

func (t *tally) load() (live, listed uint32) { return split(t.word.Load()) }

func split(word uint64) (live, listed uint32) { return uint32(word), uint32(word >> 32) }

func (t *tally) enter() (live, listed uint32) { return split(t.word.Add(oneListed + 1)) }

func (t *tally) leave() (live, listed uint32) { return split(t.word.Add(^uint64(0))) }

// unlist takes count out of the list. Its caller holds the lock under which tasks enter.
func (t *tally) unlist(count uint32) { t.word.Add(-uint64(count) * oneListed) }

// crowded says when sweeping pays: it takes out three times what it leaves. When the last task has ended none is kept, but below
// a stream: there the last item often ends before the next one starts, and holds nothing any more.
func (n *node) crowded(live, listed uint32) bool {
	return listed > 4*live+32 || live == 0 && listed > 0 && n.kind() != kindStream
}

// link makes n a child of p. callers identifies labels that n's ctx adds to those of p.
func (n *node) link(p *node, callers any) {
	n.begun = began() // before the lock, for it may ask the clock
	p.mu.Lock()
	if p.use()&isClosed != 0 {
		p.mu.Unlock()
		panic("meanwhile: a task was started after " + p.String() + " ended: " +
			"a ctx must not outlive its function; start the task before the function returns, or pass the ctx of a scope that lives on")
	}
	f := p.family
	if f == nil {
		f = new(family)
		p.family = f
	}
	f.started++
	if n.kind() != kindItem { // which has its index
		n.number = f.started
	}
	f.identify(n)
	n.labels = goroutine.NewSet(f.labels.labelsBelow(p, n, callers))
	n.next = f.first
	f.first = n
	c := p.canceled.Load()
	if n.is(isBackground) {
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
	case n.kind() == kindShield:
		n.startGrace(c)
	default:
		n.cancel(c)
	}
}

// identify gives n a number in the process. A family sets numbers aside, the more the more tasks it has started, so that
// those who start many do not meet at one counter.
func (f *family) identify(n *node) {
	if f.ids == f.idEnd {
		count := max(1, min(f.started, 64)) // f.started begins anew after four billion tasks
		f.idEnd = lastID.Add(count)
		f.ids = f.idEnd - count
	}
	f.ids++
	n.ident |= newIdent(f.ids, 0)
}

// unlink takes n, which is finished, out of its parent, which may wait for that.
func (n *node) unlink() {
	p := n.parent()
	if p == nil {
		return
	}
	f := p.family
	if n.is(hasPlace) {
		f.scope.places.Release(1)
	}
	if n.is(isBackground) {
		p.mu.Lock()
		f.background--
		p.mu.Unlock()
	}
	live, listed := f.below.leave()
	// The flag is set before the parent looks at the tally, and read after the tally was changed: one of the two sees
	// the other.
	flags := p.flags.Load()
	joined := flags&isJoining != 0 && (live == 0 || flags&hasBackground != 0)
	if !joined && !p.crowded(live, listed) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if live, listed = f.below.load(); p.crowded(live, listed) {
		f.sweep()
	}
	if joined {
		f.tellJoined()
	}
}

// sweep takes the ended tasks out of the list.
func (f *family) sweep() {
	var out uint32
	link := &f.first
	for k := *link; k != nil; k = *link {
		if k.is(isFinished) {
			*link, k.next = k.next, nil
			out++
		} else {
			link = &k.next
		}
	}
	f.below.unlist(out)
}

// waitedFor is how many of the tasks below the function waits for.
func (f *family) waitedFor() uint32 {
	live, _ := f.below.load()
	if f.dismissed {
		return live
	}
	return live - f.background
}

// tellJoined wakes the function when none is left that it waits for.
func (f *family) tellJoined() {
	if f.waits && f.waitedFor() == 0 {
		f.waits = false
		f.joined.Done()
	}
}

// children adds the tasks below that have not ended to the list, the newest first; the caller holds mu.
func (n *node) children(list []*node) []*node {
	if n.family == nil {
		return list
	}
	for k := n.family.first; k != nil; k = k.next {
		if !k.is(isFinished) {
			list = append(list, k)
		}
	}
	return list
}

// live is how many tasks below have not ended; the caller holds mu.
func (n *node) live() uint32 {
	if n.family == nil {
		return 0
	}
	live, _ := n.family.below.load()
	return live
}

// join waits for the tasks below, then cancels the background ones and waits for them. After it no task can be
// started below n.
func (n *node) join() {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.family
	for n.live() > 0 {
		n.flags.Or(isJoining)
		if f.waitedFor() == 0 {
			n.dismiss()
			continue
		}
		f.waits = true
		f.joined.Add(1)
		f.tellJoined()
		n.mu.Unlock()
		f.joined.Wait()
		n.mu.Lock()
	}
	n.flags.Or(isClosed)
}

// dismiss cancels the background tasks; from then on the wait is for them as well. The caller holds mu.
func (n *node) dismiss() {
	n.family.dismissed = true
	background := n.children(nil)
	n.mu.Unlock()
	c := dismissal(n)
	for _, k := range background {
		k.cancel(c)
	}
	n.mu.Lock()
}

func dismissal(scope *node) *cancellation {
	return &cancellation{err: context.Canceled, cause: errScopeEnded, from: scope}
}
