package scope

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// Causes of cancellations for which the caller gave none.
var (
	errEnded      = errors.New("the task has ended")
	errScopeEnded = errors.New("the scope has ended, and with it its background tasks")
	errCanceled   = errors.New("canceled by Task.Cancel")
	ErrLoopEnded  = errors.New("the loop over the stream has ended")
	ErrLost       = errors.New("another function was first")
)

// timedOut is the cause of a cancellation by the option Timeout.
type timedOut struct{ what string }

func (e *timedOut) Error() string { return e.what }

func (e *timedOut) Unwrap() error { return context.DeadlineExceeded }

// Timeout makes the error one of package net, as context.DeadlineExceeded is.
func (e *timedOut) Timeout() bool { return true }

func (e *timedOut) Temporary() bool { return true }

// A cancellation is one event, shared by every task it reaches.
type cancellation struct {
	err   error // context.Canceled or context.DeadlineExceeded: Err returns it
	Cause error // who canceled, and why; context.Cause returns it
	from  *Node // where it entered the tree; nil for the end of a task

	once sync.Once
	std  context.Context

	whole atomic.Pointer[error] // err with the cause
}

// Failure returns c's error with its cause. It is the same error for all tasks that c reaches.
func (c *cancellation) Failure() error {
	if e := c.whole.Load(); e != nil {
		return *e
	}
	err := WithCause(c.err, c.Cause)
	c.whole.CompareAndSwap(nil, &err)
	return *c.whole.Load()
}

// isError reports whether err says no more than that c has happened.
func (c *cancellation) isError(err error) bool {
	return err == c.err || SameError(err, c.Failure())
}

// standard returns a canceled context of the standard library with c's cause: context.Cause reads the cause only from the library's own
// type, so our contexts have to return one.
func (c *cancellation) standard() context.Context {
	c.once.Do(func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(c.Cause)
		c.std = ctx
	})
	return c.std
}

// ended is the cancellation of a task that has ended, so that whatever is still attached to the task is released. Its standard context is
// created here and not on demand: one that is created in a synctest bubble could not be used outside it.
var ended = func() *cancellation {
	c := &cancellation{err: context.Canceled, Cause: errEnded}
	c.standard()
	return c
}()

// causeKey is the private key by which context.Cause asks a context for the library's own type.
var causeKey = func() any {
	var p keyProbe
	_ = context.Cause(&p)
	return p.key
}()

// keyProbe is a canceled context that records the key that Value was called with.
type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// An After is an entry in a task's list of the wakers to call when the task is canceled, or when it has ended.
type After struct {
	w    waker // nil after it was woken or stopped
	n    *Node
	next *After
	prev **After // the pointer to this one
}

// A waker is woken once, in the goroutine that cancels. It must not block.
type waker interface{ Wake() }

type WakerFunc func()

func (f WakerFunc) Wake() { f() }

// OnCancel wakes w when n is canceled. If n is canceled already, it returns false and does not wake w.
func (n *Node) OnCancel(a *After, w waker) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.use()&IsFinished != 0 || n.canceled.Load() != nil {
		return false
	}
	a.n, a.w = n, w
	a.link(&n.after)
	return true
}

// link puts a at the head of a list; the caller holds the mutex.
func (a *After) link(head **After) {
	a.next, a.prev = *head, head
	if a.next != nil {
		a.next.prev = &a.next
	}
	*head = a
}

// Stop keeps w from being woken. It returns false if w was woken or stopped before.
func (a *After) Stop() bool {
	n := a.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.w == nil {
		return false
	}
	*a.prev = a.next
	if a.next != nil {
		a.next.prev = a.prev
	}
	a.w = nil
	return true
}

// linked reports whether a is in its list: it was neither woken nor stopped.
func (a *After) linked() bool {
	a.n.mu.Lock()
	defer a.n.mu.Unlock()
	return a.w != nil
}

// wakers appends the wakers of a's list to another list, and marks them as woken; the caller holds the mutex.
func (a *After) wakers(list []waker) []waker {
	for ; a != nil; a = a.next {
		list = append(list, a.w)
		a.w = nil
	}
	return list
}

// AfterFunc lets the standard library attach a child context without a goroutine; see [context.AfterFunc].
func (n *Node) AfterFunc(f func()) (stop func() bool) {
	n.Pull(true)
	a := new(After)
	if !n.OnCancel(a, WakerFunc(f)) {
		go f()
		return func() bool { return false }
	}
	return a.Stop
}

// CancelBecause cancels n and everything below it; nil means a default cause. It reports whether n was still live.
func (n *Node) CancelBecause(cause error) bool {
	if cause == nil {
		cause = errCanceled
	}
	return n.Cancel(&cancellation{err: context.Canceled, Cause: cause, from: n})
}

// CanceledBy returns what canceled n before it ended, or nil. It is for use until n has ended.
func (n *Node) CanceledBy() *cancellation { return n.canceled.Load() }

// CatchUp cancels n if a task above it is canceled already: a cancellation goes down the tree from task to task, which takes a while where
// there are many. It returns what has canceled n, or nil. Like Pull, it does not look beyond a shield.
func (n *Node) CatchUp() *cancellation {
	n.Pull(false)
	for p := n; n.canceled.Load() == nil && p.Kind() != KindShield && p.Parent != nil; {
		p = p.Parent
		if c := p.canceled.Load(); c != nil {
			n.Cancel(c)
		}
	}
	return n.canceled.Load()
}

// Cancel cancels n and everything below it and reports whether n was still live. A shielded task below n gets its grace period first. The
// wakers are called without a lock.
func (n *Node) Cancel(c *cancellation) bool {
	live := false
	var buf [16]*Node
	todo := append(buf[:0], n)
	var wakers []waker
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x != n && x.Kind() == KindShield {
			x.startGrace(c)
			continue
		}
		x.mu.Lock()
		if x.canceled.Load() == nil {
			live = live || x == n && !x.Is(IsFinished)
			x.canceled.Store(c)
			if x.done != nil {
				close(x.done)
			}
			wakers = x.after.wakers(wakers)
			x.after = nil
			todo = x.children(todo)
		}
		x.mu.Unlock()
	}
	for _, w := range wakers {
		w.Wake()
	}
	return live
}
