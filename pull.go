package meanwhile

import (
	"sync"
	"unsafe"
)

// A source gets nothing but a yield function, so it cannot know the scope that pulls it, and a loop that is left
// could not end a source that waits: for a channel, a reader, or a stream further up. These tell it. Where a stream of
// this package pulls, it registers the yield function it hands out; a source of this package looks itself up by the yield
// function it got. A function of the user's in between hides the one from the other: then the source ends with
// its own ctx.
var pullers sync.Map // of yield functions, by closure, to *node

// closure identifies a function value by the object it points to, which the map keeps alive.
func closure[T any](yield func(T, error) bool) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&yield))
}

// lead makes scope known as the one that pulls with yield, until done is called.
func lead[T any](yield func(T, error) bool, scope *node) (done func()) {
	key := closure(yield)
	pullers.Store(key, scope)
	return func() { pullers.Delete(key) }
}

// pulledBy returns the scope that pulls with yield, or nil for a plain loop.
func pulledBy[T any](yield func(T, error) bool) *node {
	scope, _ := pullers.Load(closure(yield))
	n, _ := scope.(*node)
	return n
}

// follow makes n end with the scope that pulls with yield, until done is called.
func follow[T any](yield func(T, error) bool, n *node) (done func()) {
	puller := pulledBy(yield)
	if puller == nil {
		return func() {}
	}
	puller.pull(true)
	a := new(after)
	stop := func() { n.cancel(puller.cancellation()) }
	if !puller.onCancel(a, wakerFunc(stop)) {
		stop()
		return func() {}
	}
	return func() { a.stop() }
}
