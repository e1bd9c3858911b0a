package meanwhile

import (
	"context"
	"sync"
	"unsafe"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// pullers maps the yield function that a source received to the scope of the stream that pulls from the source.
//
// Leaving the loop over a stream must end a source that waits: for a channel, for a reader, for a stream further up. But an
// iterator receives only its yield function. So a stream registers the yield function that it passes to its source, and the
// sources of this package look up the one that they received. A function that passes values on, such as [Filter], registers
// its own yield function for the same scope. An iterator of the user's own does not: a source behind it ends with the ctx
// that the source was created with.
var pullers sync.Map // from unsafe.Pointer to *scope.Node

// identity returns the address of the closure, which distinguishes a function value from all others that exist. A registered
// closure cannot be mistaken for another one: the map holds its address and so keeps it from being freed, and it captures
// variables, so that it is not one of the closures that the compiler creates once for all calls.
func identity[T any](yield func(T, error) bool) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&yield))
}

// register records puller as the scope that pulls with yield, until unregister is called.
func register[T any](yield func(T, error) bool, puller *scope.Node) (unregister func()) {
	key := identity(yield)
	pullers.Store(key, puller)
	return func() { pullers.Delete(key) }
}

// pullerOf returns the scope that pulls with yield, or nil for a plain loop.
func pullerOf[T any](yield func(T, error) bool) *scope.Node {
	puller, _ := pullers.Load(identity(yield))
	n, _ := puller.(*scope.Node)
	return n
}

// pass calls each for the values of in, on behalf of the loop that yield belongs to: in ends when a source that received
// yield would end. If in is an iterator of the user's own, it ends with its next value, even if each drops that value.
func pass[In, Out any](in Stream[In], yield func(Out, error) bool, each func(In, error) bool) {
	if puller := pullerOf(yield); puller != nil {
		dropsOrYields := each
		each = func(value In, err error) bool { return dropsOrYields(value, err) && puller.CanceledBy() == nil }
		defer register(each, puller)()
	}
	in(each)
}

// endWith cancels n when the scope that pulls with yield is canceled, until stop is called.
func endWith[T any](yield func(T, error) bool, n *scope.Node) (stop func()) {
	puller := pullerOf(yield)
	if puller == nil {
		return func() {}
	}
	puller.Pull(true)
	a := new(scope.After)
	cancel := func() { n.Cancel(puller.Cancellation()) }
	if !puller.OnCancel(a, scope.WakerFunc(cancel)) {
		cancel()
		return func() {}
	}
	return func() { a.Stop() }
}

// leftBy returns a channel that is closed when the loop that yield belongs to is left while the source waits. It is nil for
// a plain loop, which cannot be left then.
func leftBy[T any](yield func(T, error) bool) <-chan struct{} {
	if puller := pullerOf(yield); puller != nil {
		return puller.Done()
	}
	return nil
}

// endingWith returns a ctx that is canceled when the scope that pulls with yield is canceled, or end is called.
func endingWith[T any](ctx context.Context, yield func(T, error) bool) (inner context.Context, end func()) {
	inner, cancel := context.WithCancelCause(ctx)
	stop := func() bool { return true }
	if puller := pullerOf(yield); puller != nil {
		stop = context.AfterFunc(puller, func() { cancel(context.Cause(puller)) })
	}
	return inner, func() {
		stop()
		cancel(scope.ErrLoopEnded)
	}
}
