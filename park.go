package meanwhile

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A parker is a goroutine that waits inside this package. It parks on a WaitGroup: 16 bytes, where a channel takes 96.
// What is embedded around it says what for: a sleeper, a joiner or an acquirer; the tree finds it among what its task's
// cancellation wakes.
type parker struct {
	after after
	wg    sync.WaitGroup
	awake atomic.Bool
	index int32 // of a sleeper in its clock's heap, less than zero outside of it; guarded by that. Here it takes no room
}

// A waiter is a parker with what is around it.
type waiter interface {
	waker
	number() uint32
}

// ready is called before anybody could wake the parker.
func (p *parker) ready() { p.wg.Add(1) }

// wake ends the wait, once.
func (p *parker) wake() {
	if p.awake.CompareAndSwap(false, true) {
		p.wg.Done()
	}
}

// park waits until w, which p is in, is woken, by whomever it is known to or by the cancellation of ctx.
func (p *parker) park(ctx context.Context, w waiter) {
	n, own := ctx.(*node)
	if !own {
		p.parkBelow(ctx, w)
		return
	}
	n.pull(true)
	if n.onCancel(&p.after, w) {
		p.waitLow(p.number())
		p.after.stop()
	}
}

// parkBelow is park with a ctx that was derived from a task's, or is none.
//
//go:noinline
func (p *parker) parkBelow(ctx context.Context, w waiter) {
	if n := from(ctx); n != nil && n.onCancel(&p.after, onlyShown{w}) {
		defer p.after.stop()
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, w.wake)()
	}
	p.waitLow(p.number())
}

// number tells apart the few parkers that have the ctx of one task.
func (p *parker) number() uint32 {
	return uint32(uintptr(unsafe.Pointer(p))/unsafe.Sizeof(*p)) % (markBase * markBase)
}

// waiters adds those whose ctx is n's, or derived from it, to the list. The caller holds mu.
func (n *node) waiters(list []waiter) []waiter {
	for a := n.after; a != nil; a = a.next {
		switch w := a.w.(type) {
		case onlyShown:
			list = append(list, w.waiter)
		case waiter:
			list = append(list, w)
		}
	}
	return list
}

// onlyShown is a waiter whose ctx was derived from its task's. It may have been detached from that, and so is not woken
// with it.
type onlyShown struct{ waiter }

func (onlyShown) wake() {}
