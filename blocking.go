package meanwhile

import (
	"context"
	"sync"
	"sync/atomic"
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
// [*PanicError].
//
// At most 100 such calls run at once in a process ([SetMaxBlocking]), so that they cannot exhaust its threads; the others
// wait their turn, in order. The tree shows each call below its task, with what it is doing, also when it is abandoned.
func Blocking[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	var none T
	if err := blocking.Acquire(ctx, 1); err != nil {
		return none, err
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	c := newBlockingCall(ctx)
	go func() {
		o := outcome{err: errGoexit}
		defer func() {
			if r := recover(); r != nil {
				o.err = recovered(r)
			}
			c.ended()
			blocking.Release(1)
			done <- o
		}()
		climb(func() { o.value, o.err = fn() }, c.id, markDigits)
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		c.abandoned.Store(true)
		return none, ctxError(ctx)
	}
}

// A blockingCall is a call that runs, as the tree shows it. It is no task: its task can end before it.
type blockingCall struct {
	id        uint32
	begun     uint32
	caller    *node // nil for a ctx without a task
	abandoned atomic.Bool
	over      atomic.Bool
}

// blockingCalls are those that run.
var blockingCalls struct {
	sync.Mutex
	all map[*blockingCall]struct{}
}

func newBlockingCall(ctx context.Context) *blockingCall {
	c := &blockingCall{id: nextID(), begun: tick(), caller: from(ctx)}
	blockingCalls.Lock()
	defer blockingCalls.Unlock()
	if blockingCalls.all == nil {
		blockingCalls.all = make(map[*blockingCall]struct{})
	}
	blockingCalls.all[c] = struct{}{}
	return c
}

func (c *blockingCall) ended() {
	c.over.Store(true)
	blockingCalls.Lock()
	defer blockingCalls.Unlock()
	delete(blockingCalls.all, c)
}
