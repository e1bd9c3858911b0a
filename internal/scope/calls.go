package scope

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// BlockingSem bounds the calls of Blocking that run at once in this process.
var BlockingSem = NewSem(100)

// A BlockingCall is a running call of Blocking, as the tree shows it. It is not a task: the task that called Blocking can end before it.
type BlockingCall struct {
	ID     uint32
	Labels *goroutine.Set
	begun  uint32
	Caller *Node // nil if ctx has no task
	state  atomic.Uint32
}

const (
	callAbandoned uint32 = 1 << iota
	callEnded
)

// Abandon marks the call as abandoned, unless it has ended. It reports whether it has ended.
func (c *BlockingCall) Abandon() (ended bool) {
	return !c.state.CompareAndSwap(0, callAbandoned)
}

// blockingCalls holds the calls that are running.
var blockingCalls struct {
	sync.Mutex
	all map[*BlockingCall]struct{}
}

func NewBlockingCall(ctx context.Context) *BlockingCall {
	c := &BlockingCall{ID: nextID(), begun: tick(), Caller: From(ctx)}
	if c.Caller != nil {
		c.Labels = goroutine.NewSet(extend(c.Caller.Labels.Labels(), "blocking"))
	} else {
		c.Labels = goroutine.NewSet(rootLabels(callersLabels(ctx, nil), "blocking"))
	}
	blockingCalls.Lock()
	defer blockingCalls.Unlock()
	if blockingCalls.all == nil {
		blockingCalls.all = make(map[*BlockingCall]struct{})
	}
	blockingCalls.all[c] = struct{}{}
	return c
}

// End removes the call from the tree, and reports whether it was abandoned.
func (c *BlockingCall) End() (abandoned bool) {
	abandoned = c.state.Or(callEnded)&callAbandoned != 0
	blockingCalls.Lock()
	defer blockingCalls.Unlock()
	delete(blockingCalls.all, c)
	return abandoned
}

func (c *BlockingCall) HasEnded() bool { return c.state.Load()&callEnded != 0 }

func (c *BlockingCall) IsAbandoned() bool { return c.state.Load()&callAbandoned != 0 }

// Age returns how long the call had been running at a moment after its start.
func (c *BlockingCall) Age(at Moment) time.Duration { return at.since(c.begun) }

// CallsByTask returns the running calls of Blocking, grouped by the nearest task above them that has not ended; nil if there is none.
func CallsByTask() map[*Node][]*BlockingCall {
	calls := make(map[*Node][]*BlockingCall)
	blockingCalls.Lock()
	for c := range blockingCalls.all {
		n := c.Caller
		for n != nil && n.Is(IsFinished) {
			n = n.Parent
		}
		calls[n] = append(calls[n], c)
	}
	blockingCalls.Unlock()
	for _, list := range calls {
		slices.SortFunc(list, func(a, b *BlockingCall) int { return cmp.Compare(a.ID, b.ID) })
	}
	return calls
}
