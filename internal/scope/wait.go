package scope

import (
	"context"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A BlockedWait is a goroutine that waits inside this package. It blocks on a WaitGroup: 16 bytes, where a channel takes 96.
// The type that embeds it says what it waits for: a time, the end of a task, or a semaphore. The tree finds it among what its
// task's cancellation wakes, and an [EndWaiter] also among what the end of the other task wakes.
type BlockedWait struct {
	after After
	wg    sync.WaitGroup
	awake atomic.Bool
	index int32 // of a timeWaiter in its clock's heap, less than zero outside of it; guarded by that. Here it takes no space
}

// A Waiter is a BlockedWait with the type that embeds it.
type Waiter interface {
	waker
	Kind() WaiterKind
	StillWaits() bool
	Identity() weak.Pointer[BlockedWait] // tells one wait from all others
}

// A WaiterKind is the type of a waiter.
type WaiterKind uint8

const (
	NoWaiter WaiterKind = iota
	ForTime
	ForEnd
	ForSemaphore
)

func (p *BlockedWait) Identity() weak.Pointer[BlockedWait] { return weak.Make(p) }

// Ready is called before anybody could wake the waiter.
func (p *BlockedWait) Ready() { p.wg.Add(1) }

// Wake ends the wait, once.
func (p *BlockedWait) Wake() {
	if p.awake.CompareAndSwap(false, true) {
		p.wg.Done()
	}
}

// Block waits until w, which p is in, is woken, by whomever it is known to or by the cancellation of ctx.
func (p *BlockedWait) Block(ctx context.Context, w Waiter) {
	n, own := ctx.(*Node)
	if !own || goroutine.Exact && goroutine.Current() != n.Labels.Address() {
		p.blockElsewhere(ctx, w)
		return
	}
	n.Pull(true)
	if n.OnCancel(&p.after, w) {
		p.wg.Wait()
		p.after.Stop()
	}
}

// blockElsewhere is Block with a ctx that is not that of the task whose goroutine this is: one that was derived from it, or
// another task's, or none. The waiter is shown for the goroutine.
//
//go:noinline
func (p *BlockedWait) blockElsewhere(ctx context.Context, w Waiter) {
	if n := From(ctx); n != nil && n.OnCancel(&p.after, shown{w, currentSet()}) {
		defer p.after.Stop()
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, w.Wake)()
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
	Waiter
	set goroutine.Address
}

func (shown) Wake() {}

// IsAwake reports whether the wait is over.
func (p *BlockedWait) IsAwake() bool { return p.awake.Load() }

// StillWaits reports whether it still waits.
func (p *BlockedWait) StillWaits() bool { return p.after.linked() }

// waiters adds those that wait with a ctx of n, or for its end, to the lists of their goroutines' label sets. The caller holds
// mu.
func (n *Node) waiters(bySet map[goroutine.Address][]Waiter) {
	for a := n.after; a != nil; a = a.next {
		switch w := a.w.(type) {
		case shown:
			bySet[w.set] = append(bySet[w.set], w.Waiter)
		case Waiter:
			set := n.Labels.Address()
			bySet[set] = append(bySet[set], w)
		}
	}
	for a := n.ends; a != nil; a = a.next {
		if j, ok := a.w.(*EndWaiter); ok {
			bySet[j.set] = append(bySet[j.set], j)
		}
	}
}
