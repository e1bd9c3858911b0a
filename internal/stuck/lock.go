package main

import (
	"context"
	"log"
	"sync"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "mutex", start: mutex, want: []want{{path: "waiter", wait: "mutex", at: "mutex"}}},
		stuckCase{name: "rwmutex", start: rwMutex, want: []want{
			{path: "reader", wait: "rwmutex", at: "rwmutex-read"},
			{path: "writer", wait: "rwmutex", at: "rwmutex-write"},
			{path: "second", wait: "rwmutex", at: "rwmutex-second"},
		}},
		stuckCase{name: "waitgroup", start: waitGroup, want: []want{{path: "waiter", wait: "waitgroup", at: "waitgroup"}}},
		stuckCase{name: "cond", start: cond, want: []want{{path: "waiter", wait: "cond", at: "cond"}}},
		stuckCase{name: "once", start: once, want: []want{
			{path: "first", wait: "receive", at: "once-inside"},
			{path: "second", wait: "once", at: "once"},
		}},
		stuckCase{name: "once-value", start: onceValue, want: []want{
			{path: "group", wait: "waitgroup", at: "once-group"},
			{path: "reader", wait: "rwmutex", at: "once-reader"},
		}},
		stuckCase{name: "logger", start: logger, want: []want{
			{path: "first", wait: "receive", at: "logger-write"},
			{path: "second", wait: "mutex", at: "logger"},
		}},
	)
}

func mutex(ctx context.Context) error {
	mu := new(sync.Mutex)
	mu.Lock()
	meanwhile.Go(ctx, func(context.Context) error {
		mu.Lock() // stuck: mutex
		defer mu.Unlock()
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

// rwMutex has two writers wait for the same reader: one of them waits for the other within the lock.
func rwMutex(ctx context.Context) error {
	written, read := new(sync.RWMutex), new(sync.RWMutex)
	written.Lock()
	read.RLock()
	meanwhile.Go(ctx, func(context.Context) error {
		written.RLock() // stuck: rwmutex-read
		defer written.RUnlock()
		return nil
	}, meanwhile.Name("reader"))
	meanwhile.Go(ctx, func(context.Context) error {
		read.Lock() // stuck: rwmutex-write
		defer read.Unlock()
		return nil
	}, meanwhile.Name("writer"))
	meanwhile.Go(ctx, func(context.Context) error {
		read.Lock() // stuck: rwmutex-second
		defer read.Unlock()
		return nil
	}, meanwhile.Name("second"))
	return nil
}

func waitGroup(ctx context.Context) error {
	wg := new(sync.WaitGroup)
	wg.Add(1)
	meanwhile.Go(ctx, func(context.Context) error {
		wg.Wait() // stuck: waitgroup
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func cond(ctx context.Context) error {
	ready, c := false, sync.NewCond(new(sync.Mutex))
	meanwhile.Go(ctx, func(context.Context) error {
		c.L.Lock()
		defer c.L.Unlock()
		for !ready {
			c.Wait() // stuck: cond
		}
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func once(ctx context.Context) error {
	o, begun, ch := new(sync.Once), make(chan struct{}), make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		o.Do(func() {
			close(begun)
			<-ch // stuck: once-inside
		})
		return nil
	}, meanwhile.Name("first"))
	meanwhile.Go(ctx, func(context.Context) error {
		<-begun
		o.Do(func() {}) // stuck: once
		return nil
	}, meanwhile.Name("second"))
	return nil
}

// onceValue calls methods of other types of package sync, which block, through OnceFunc and Once.
func onceValue(ctx context.Context) error {
	var group sync.WaitGroup
	group.Add(1)
	wait := sync.OnceFunc(group.Wait)
	meanwhile.Go(ctx, func(context.Context) error {
		wait() // stuck: once-group
		return nil
	}, meanwhile.Name("group"))
	written, once := new(sync.RWMutex), new(sync.Once)
	written.Lock()
	meanwhile.Go(ctx, func(context.Context) error {
		once.Do(written.RLock) // stuck: once-reader
		return nil
	}, meanwhile.Name("reader"))
	return nil
}

// A hung is a writer that never returns.
type hung struct{ begun, never chan int }

func (h hung) Write(text []byte) (int, error) {
	close(h.begun)
	<-h.never // stuck: logger-write
	return len(text), nil
}

// logger has two tasks log to a writer that hangs: the second waits for a lock of package log.
func logger(ctx context.Context) error {
	out := hung{make(chan int), make(chan int)}
	l := log.New(out, "", 0)
	meanwhile.Go(ctx, func(context.Context) error {
		l.Print("hello")
		return nil
	}, meanwhile.Name("first"))
	meanwhile.Go(ctx, func(context.Context) error {
		<-out.begun
		l.Print("hello") // stuck: logger
		return nil
	}, meanwhile.Name("second"))
	return nil
}
