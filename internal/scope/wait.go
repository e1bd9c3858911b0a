package scope

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A BlockedWait is a goroutine that waits inside this package. It blocks on a WaitGroup: 16 bytes, where a channel takes 96. The type
// that embeds it knows what it waits for: a time, the end of a task, or a semaphore. A snapshot finds it in its task's list of what a
// cancellation wakes; it finds an [EndWaiter] also in the list of what the end of the other task wakes.
type BlockedWait struct {
	after After
	wg    sync.WaitGroup
	state atomic.Uint32 // isAwake, and the number of Identity
	index int32         // index of a timeWaiter in its clock's heap, below zero outside of it; guarded by the clock. It takes no space: here it fills padding
}

// A Waiter is a BlockedWait with the type that embeds it.
type Waiter interface {
	waker
	Kind() WaiterKind
	StillWaits() bool
	Identity() uint32
}

// A WaiterKind is the type of a waiter.
type WaiterKind uint8

const (
	NoWaiter WaiterKind = iota
	ForTime
	ForEnd
	ForSemaphore
)

// isAwake is set when the wait is over.
const isAwake = 1 << 31

// waitNumber is the last number that was given to a waiter.
var waitNumber atomic.Uint32

// Identity returns a number that identifies the wait. The first snapshot that finds the waiter assigns it. Numbers repeat after two billion; two
// waits could be confused only if that many others were found between two snapshots of their task, which is forgotten after a minute or two. A wider
// number would make each waiter larger.
func (p *BlockedWait) Identity() uint32 {
	for {
		state := p.state.Load()
		if number := state &^ isAwake; number != 0 {
			return number
		}
		p.state.CompareAndSwap(state, state|waitNumber.Add(1)&^isAwake)
	}
}

// Ready is called before the waiter can be woken.
func (p *BlockedWait) Ready() { p.wg.Add(1) }

// Wake ends the wait, once.
func (p *BlockedWait) Wake() {
	if p.state.Or(isAwake)&isAwake == 0 {
		p.wg.Done()
	}
}

// Block waits, in p's goroutine, until w is woken, or ctx is canceled.
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

// blockElsewhere is Block with a ctx other than that of the task whose goroutine this is: one derived from it, another task's, or none. The waiter is
// shown for the goroutine.
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

// shown is a waiter with the label set of its goroutine. The ctx that it waits with may be detached from its task, so the task's cancellation does
// not wake it.
type shown struct {
	Waiter
	set goroutine.Address
}

func (shown) Wake() {}

// IsAwake reports whether the wait is over.
func (p *BlockedWait) IsAwake() bool { return p.state.Load()&isAwake != 0 }

// StillWaits reports whether the wait is not over.
func (p *BlockedWait) StillWaits() bool { return p.after.linked() }

// waiters appends to the lists the waiters that wait with a ctx of n, or for its end. The caller holds mu.
func (n *Node) waiters(l *Lists) {
	for a := n.after; a != nil; a = a.next {
		switch w := a.w.(type) {
		case shown:
			l.Elsewhere = append(l.Elsewhere, ElsewhereWaiter{w.set, w.Waiter})
		case Waiter:
			l.Waiters = append(l.Waiters, w)
		}
	}
	for a := n.ends; a != nil; a = a.next {
		if j, ok := a.w.(*EndWaiter); ok {
			l.Elsewhere = append(l.Elsewhere, ElsewhereWaiter{j.set, j})
		}
	}
}
