package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "deep-stack", start: deepStack, want: []want{
			{path: "60", wait: "receive", at: "deep-60"},
			{path: "100", wait: "receive", at: "deep-100"},
			{path: "1000", wait: "unknown"},
		}, also: []string{"deep-1000"}},
		stuckCase{name: "depths", start: depths, want: wantDepths()},
		stuckCase{name: "deep-scope", start: deepScope, want: []want{
			{path: "outer", wait: "task", on: "stuck/outer/run", at: "deep-run", orUnknown: true},
			{path: "outer/run", wait: "receive", at: "deep-scope"},
		}},
		stuckCase{name: "generic", start: generic, want: []want{
			{path: "function", wait: "receive", at: "generic"},
			{path: "method", wait: "send", at: "generic-method"},
		}},
		stuckCase{name: "deferred", start: deferred, want: []want{
			{path: "returning", wait: "receive", at: "deferred"},
			{path: "panicking", wait: "receive", at: "panicking"},
		}},
		stuckCase{name: "pull", start: pull, want: []want{
			{path: "waiter", wait: "source", at: "pull", orUnknown: true},
		}, also: []string{"pull-source"}},
	)
}

// deepStack has tasks wait 60, 100 and 1000 calls deep. Only the last 128 calls of a goroutine are known, so the third task cannot be found.
func deepStack(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		dive(60, func() {
			<-ch // stuck: deep-60
		})
		return nil
	}, meanwhile.Name("60"))
	meanwhile.Go(ctx, func(context.Context) error {
		dive(100, func() {
			<-ch // stuck: deep-100
		})
		return nil
	}, meanwhile.Name("100"))
	meanwhile.Go(ctx, func(context.Context) error {
		dive(1000, func() {
			<-ch // stuck: deep-1000
		})
		return nil
	}, meanwhile.Name("1000"))
	return nil
}

// dive calls itself depth times, and then f.
func dive(depth int, f func()) {
	if depth > 0 {
		dive(depth-1, f)
		return
	}
	f()
}

const (
	deepestSeen = 100 // calls
	deepest     = 136
)

// depths has tasks wait at all depths up to some at which not all calls of a goroutine are known.
func depths(ctx context.Context) error {
	ch := make(chan int)
	for depth := range deepest {
		meanwhile.Go(ctx, func(context.Context) error {
			dive(depth, func() {
				<-ch // stuck: depths
			})
			return nil
		}, meanwhile.Name(fmt.Sprint(depth)))
	}
	return nil
}

func wantDepths() (all []want) {
	for depth := range deepest {
		all = append(all, want{path: fmt.Sprint(depth), wait: "receive", at: "depths", orUnknown: depth > deepestSeen})
	}
	return all
}

// deepScope opens a scope 1000 calls deep, so that the task above it cannot be found.
func deepScope(ctx context.Context) error {
	ch := make(chan int)
	wait := func(context.Context) error {
		<-ch // stuck: deep-scope
		return nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) (err error) {
		dive(1000, func() {
			err = meanwhile.Run(ctx, wait) // stuck: deep-run
		})
		return err
	}, meanwhile.Name("outer"))
	return nil
}

// A box is a type with a type parameter.
type box[T any] struct{ ch chan T }

func (b *box[T]) put(value T) {
	b.ch <- value // stuck: generic-method
}

func receiveOne[T any](ch chan T) (value T) {
	return <-ch // stuck: generic
}

func generic(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		receiveOne(make(chan map[string]int))
		return nil
	}, meanwhile.Name("function"))
	meanwhile.Go(ctx, func(context.Context) error {
		put := (&box[string]{make(chan string)}).put
		put("")
		return nil
	}, meanwhile.Name("method"))
	return nil
}

// deferred has tasks wait in deferred functions: at the end of a function, and during a panic.
func deferred(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		defer func() {
			<-ch // stuck: deferred
		}()
		return nil
	}, meanwhile.Name("returning"))
	meanwhile.Go(ctx, func(context.Context) error {
		defer func() {
			<-ch // stuck: panicking
		}()
		panic("nobody gets to see this")
	}, meanwhile.Name("panicking"))
	return nil
}

// pull waits for a sequence that runs in a coroutine, which waits for a channel.
func pull(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		next, stop := iter.Pull(func(yield func(int) bool) {
			yield(<-ch) // stuck: pull-source
		})
		defer stop()
		next() // stuck: pull
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}
