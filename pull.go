package meanwhile

import (
	"context"
	"sync"
	"unsafe"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// pullers are the scopes of the streams that pull from a source, by the yield function that the source was given.
//
// Leaving the loop over a stream must end a source that waits: for a channel, for a reader, for a stream further up. But an
// iterator is given nothing but its yield function. So a stream registers the yield function that it passes to its source,
// and the sources of this package look up the one that they were given. What passes values on, such as [Filter], registers
// its own yield function for the same scope. An iterator of the user's own does not: a source behind it ends with the ctx
// that the source was made with.
var pullers sync.Map // unsafe.Pointer to *node

// identity tells a function value from all others that exist: it is the address of the closure. A registered closure
// cannot be mistaken for another one. The map holds its address and so keeps it from being freed, and it captures variables,
// so that it is not one of the closures that the compiler makes once for all calls.
func identity[T any](yield func(T, error) bool) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&yield))
}

// register makes puller that of the source that is given yield, until unregister is called.
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

// pass calls each for the values of in, on behalf of the loop that yield belongs to: what ends a source that is given yield
// ends in as well. Where in is an iterator of the user's own, it ends with its next value, also when each drops that.
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

// leftBy is closed when the loop that yield belongs to is left while the source waits; it is nil for a plain loop, which
// cannot be.
func leftBy[T any](yield func(T, error) bool) <-chan struct{} {
	if puller := pullerOf(yield); puller != nil {
		return puller.Done()
	}
	return nil
}

// endingWith returns a ctx that is canceled when the scope that pulls with yield is, or end is called.
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
