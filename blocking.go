package meanwhile

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// maxBlocking is how many calls of Blocking run at once in one process, unless SetMaxBlocking says otherwise.
const maxBlocking = 100

var blocking = &Semaphore{size: maxBlocking}

// SetMaxBlocking sets how many calls of [Blocking] run at once in this process, and returns what it was. The default is 100.
// Calls that run go on. It panics unless n is positive.
func SetMaxBlocking(n int) (before int) {
	mustBePositive("SetMaxBlocking", n)
	return blocking.resize(n)
}

// Blocking runs fn, a call that knows no context and may hold a thread: a C library, a file on a slow disk, a driver of
// old. It returns what fn returns, or ctx's error with its cause as soon as ctx is canceled; fn is then abandoned: it goes
// on in the background, keeps its place until it returns, and its result is dropped. A panic in fn is returned as a
// [*PanicError]; that of an abandoned call fails the nearest scope above ctx's task that has not ended, and is logged
// where there is none.
//
// At most 100 such calls run at once in a process ([SetMaxBlocking]), so that they cannot exhaust its threads; the others
// wait their turn, in order. The tree shows each call below its task, with what it is doing, also when it is abandoned.
func Blocking[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	var none T
	if err := blocking.Acquire(ctx, 1); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	c := newBlockingCall(ctx)
	go func() {
		r := result{err: ErrGoexit}
		defer func() {
			if p := recover(); p != nil {
				r.err = recovered(p)
			}
			blocking.Release(1)
			done <- r
			if abandoned := c.end(); abandoned {
				if p, ok := r.err.(*PanicError); ok {
					c.caller.failLater(p)
				}
			}
		}()
		labelGoroutine(c.labels)
		callBlocking(fn, &r.value, &r.err)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		if ended := c.abandon(); ended {
			r := <-done
			return r.value, r.err
		}
		return none, ctxError(ctx)
	}
}

// callBlocking runs fn. A snapshot knows the goroutine of a call by the name of this function.
//
//go:noinline
func callBlocking[T any](fn func() (T, error), value *T, err *error) { *value, *err = fn() }

// A blockingCall is a call that runs, as the tree shows it. It is no task: its task can end before it.
type blockingCall struct {
	id     uint32
	labels *goroutine.Set
	begun  uint32
	caller *node // nil for a ctx without a task
	state  atomic.Uint32
}

const (
	callAbandoned uint32 = 1 << iota
	callEnded
)

// abandon gives the call up, unless it has ended.
func (c *blockingCall) abandon() (ended bool) {
	return !c.state.CompareAndSwap(0, callAbandoned)
}

// blockingCalls are those that run.
var blockingCalls struct {
	sync.Mutex
	all map[*blockingCall]struct{}
}

func newBlockingCall(ctx context.Context) *blockingCall {
	c := &blockingCall{id: nextID(), begun: tick(), caller: from(ctx)}
	if c.caller != nil {
		c.labels = goroutine.NewSet(extend(c.caller.labels.Labels(), "blocking"))
	} else {
		c.labels = goroutine.NewSet(rootLabels(ctx, callersLabels(ctx, nil), "blocking"))
	}
	blockingCalls.Lock()
	defer blockingCalls.Unlock()
	if blockingCalls.all == nil {
		blockingCalls.all = make(map[*blockingCall]struct{})
	}
	blockingCalls.all[c] = struct{}{}
	return c
}

// end takes the call out of the tree.
func (c *blockingCall) end() (abandoned bool) {
	abandoned = c.state.Or(callEnded)&callAbandoned != 0
	blockingCalls.Lock()
	defer blockingCalls.Unlock()
	delete(blockingCalls.all, c)
	return abandoned
}
