package meanwhile

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A parker is a goroutine that waits inside this package. It parks on a WaitGroup: 16 bytes, where a channel takes 96.
// What is embedded around it says what for: a sleeper, a joiner or an acquirer; the tree finds it among what its task's
// cancellation wakes, and a joiner also among what the end of the other task wakes.
type parker struct {
	after after
	wg    sync.WaitGroup
	awake atomic.Bool
	index int32 // of a sleeper in its clock's heap, less than zero outside of it; guarded by that. Here it takes no room
}

// A waiter is a parker with what is around it.
type waiter interface {
	waker
	kind() waiterKind
	stillParked() bool
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
	if !own || goroutine.Exact && goroutine.Current() != n.labels.Address() {
		p.parkElsewhere(ctx, w)
		return
	}
	n.pull(true)
	if n.onCancel(&p.after, w) {
		p.wg.Wait()
		p.after.stop()
	}
}

// parkElsewhere is park with a ctx that is not that of the task whose goroutine this is: one that was derived from it, or
// another task's, or none. The waiter is shown for the goroutine.
//
//go:noinline
func (p *parker) parkElsewhere(ctx context.Context, w waiter) {
	if n := from(ctx); n != nil && n.onCancel(&p.after, shown{w, currentSet()}) {
		defer p.after.stop()
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, w.wake)()
	}
	p.wg.Wait()
}

func currentSet() goroutine.Address {
	if !goroutine.Exact {
		return goroutine.Address{}
	}
	return goroutine.Current()
}

// shown is a waiter with the label set of its goroutine. The ctx that it waits with may have been detached from its task, so
// it is not woken with that.
type shown struct {
	waiter
	set goroutine.Address
}

func (shown) wake() {}

// stillParked reports whether the parker waits.
func (p *parker) stillParked() bool { return p.after.linked() }

// waiters adds those that wait with a ctx of n, or for its end, to the lists of their goroutines' label sets. The caller holds
// mu.
func (n *node) waiters(bySet map[goroutine.Address][]waiter) {
	for a := n.after; a != nil; a = a.next {
		switch w := a.w.(type) {
		case shown:
			bySet[w.set] = append(bySet[w.set], w.waiter)
		case waiter:
			set := n.labels.Address()
			bySet[set] = append(bySet[set], w)
		}
	}
	for a := n.ends; a != nil; a = a.next {
		if j, ok := a.w.(*joiner); ok {
			bySet[j.set] = append(bySet[j.set], j)
		}
	}
}
