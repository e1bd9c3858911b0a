package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "derived", start: derived, want: []want{
			{path: "sleeper", wait: "sleep", at: "derived-sleep", until: time.Minute},
			{path: "acquirer", wait: "semaphore", at: "derived-acquire", has: []string{"1 of 1", "@derived-made"}},
			{path: "parent", wait: "task", on: "stuck/parent/child", at: "derived-wait"},
			{path: "parent/child", wait: "sleep", at: "derived-child", until: time.Minute},
		}},
		stuckCase{name: "handed", start: ctxGivenAway, want: []want{
			{path: "receiver", wait: "receive", at: "handed-receive"},
			{path: "sleeper", wait: "sleep", at: "handed-sleep", until: time.Minute, vague: true},
			{path: "acquirer", wait: "semaphore", at: "handed-acquire", has: []string{"1 of 1", "@handed-made"}},
			{path: "waiter", wait: "receive", at: "handed-wait"},
			{path: "scope", wait: "receive", at: "handed-scope"},
		}, also: []string{"handed-sleep-too", "handed-sleep-two", "handed-wait-too", "handed-acquire-too", "handed-run"}},
		stuckCase{name: "borrowed", start: borrowed, want: []want{
			{path: "lender", wait: "receive", at: "lender"},
			{path: "sleeper", wait: "sleep", at: "borrowed-sleep", until: time.Minute, vague: true},
			{path: "acquirer", wait: "semaphore", at: "borrowed-acquire", has: []string{"1 of 1", "@borrowed-made"}, vague: true},
			{path: "runner", wait: "task", on: "stuck/lender/run", at: "borrowed-run"},
			{path: "lender/run", wait: "send", at: "borrowed-scope"},
		}},
		stuckCase{name: "swapped", start: swapped, want: []want{
			{path: "a", wait: "sleep", at: "swapped-minute", until: time.Minute, vague: true},
			{path: "b", wait: "sleep", at: "swapped-hour", until: time.Hour, vague: true},
			{path: "c", wait: "task", on: "stuck/a", at: "swapped-a", vague: true},
			{path: "d", wait: "task", on: "stuck/b", at: "swapped-b", vague: true},
			{path: "e", wait: "semaphore", has: []string{"@swapped-one"}, at: "swapped-acquire", vague: true},
			{path: "f", wait: "semaphore", has: []string{"@swapped-two"}, at: "swapped-acquire", vague: true},
		}},
		stuckCase{name: "same-line", start: sameLine, want: []want{
			{path: "mutex", wait: "mutex", at: "same-lock"},
			{path: "writer", wait: "rwmutex", at: "same-lock"},
			{path: "reader", wait: "rwmutex", at: "same-lock"},
			{path: "a", wait: "task", on: "stuck/mutex", at: "same-wait"},
			{path: "b", wait: "task", on: "stuck/reader", at: "same-wait"},
			{path: "hour", wait: "sleep", at: "same-sleep", until: time.Hour},
			{path: "day", wait: "sleep", at: "same-sleep", until: 24 * time.Hour},
		}},
	)
}

// derived has tasks wait with contexts that the standard library derived from theirs.
func derived(ctx context.Context) error {
	sem := meanwhile.NewSemaphore(1) // stuck: derived-made
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		return meanwhile.Sleep(ctx, time.Minute) // stuck: derived-sleep
	}, meanwhile.Name("sleeper"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		return sem.Acquire(ctx, 1) // stuck: derived-acquire
	}, meanwhile.Name("acquirer"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		child := meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, time.Minute) // stuck: derived-child
		}, meanwhile.Name("child"))
		_, err := child.Wait(ctx) // stuck: derived-wait
		return err
	}, meanwhile.Name("parent"))
	return nil
}

// ctxGivenAway has tasks that passed their ctx to a plain goroutine, which waits with it for something else.
func ctxGivenAway(ctx context.Context) error {
	ch, sem := make(chan int), meanwhile.NewSemaphore(1) // stuck: handed-made
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	receiver := meanwhile.Go(ctx, func(ctx context.Context) error {
		go func() {
			_ = meanwhile.Sleep(ctx, time.Hour) // stuck: handed-sleep-too
		}()
		<-ch // stuck: handed-receive
		return nil
	}, meanwhile.Name("receiver"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		go func() {
			_ = meanwhile.Sleep(ctx, time.Hour) // stuck: handed-sleep-two
		}()
		return meanwhile.Sleep(ctx, time.Minute) // stuck: handed-sleep
	}, meanwhile.Name("sleeper"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		go func() {
			_, _ = receiver.Wait(ctx) // stuck: handed-wait-too
		}()
		return sem.Acquire(ctx, 1) // stuck: handed-acquire
	}, meanwhile.Name("acquirer"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		go func() {
			_ = sem.Acquire(ctx, 1) // stuck: handed-acquire-too
		}()
		<-ch // stuck: handed-wait
		return nil
	}, meanwhile.Name("waiter"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		go func() {
			_ = meanwhile.Run(ctx, func(ctx context.Context) error {
				return meanwhile.Sleep(ctx, time.Hour) // stuck: handed-run
			})
		}()
		<-ch // stuck: handed-scope
		return nil
	}, meanwhile.Name("scope"))
	return nil
}

// borrowed has tasks that wait with the ctx of another task.
func borrowed(ctx context.Context) error {
	ch, lent := make(chan int), make(chan context.Context)
	sem := meanwhile.NewSemaphore(1) // stuck: borrowed-made
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range 3 {
			lent <- ctx
		}
		<-ch // stuck: lender
		return nil
	}, meanwhile.Name("lender"))
	meanwhile.Go(ctx, func(context.Context) error {
		return meanwhile.Sleep(<-lent, time.Minute) // stuck: borrowed-sleep
	}, meanwhile.Name("sleeper"))
	meanwhile.Go(ctx, func(context.Context) error {
		return sem.Acquire(<-lent, 1) // stuck: borrowed-acquire
	}, meanwhile.Name("acquirer"))
	other := make(chan int)
	wait := func(context.Context) error {
		other <- 1 // stuck: borrowed-scope
		return nil
	}
	meanwhile.Go(ctx, func(context.Context) error {
		return meanwhile.Run(<-lent, wait) // stuck: borrowed-run
	}, meanwhile.Name("runner"))
	return nil
}

// swapped has pairs of tasks that wait with each other's ctx.
func swapped(ctx context.Context) error {
	pair := func(one, two string, first, second func(ctx context.Context) error) (a, b *meanwhile.Task[struct{}]) {
		toFirst, toSecond := make(chan context.Context, 1), make(chan context.Context, 1)
		a = meanwhile.Go(ctx, func(ctx context.Context) error {
			toSecond <- ctx
			return first(<-toFirst)
		}, meanwhile.Name(one))
		b = meanwhile.Go(ctx, func(ctx context.Context) error {
			toFirst <- ctx
			return second(<-toSecond)
		}, meanwhile.Name(two))
		return a, b
	}
	a, b := pair("a", "b", func(ctx context.Context) error {
		return meanwhile.Sleep(ctx, time.Minute) // stuck: swapped-minute
	}, func(ctx context.Context) error {
		return meanwhile.Sleep(ctx, time.Hour) // stuck: swapped-hour
	})
	pair("c", "d", func(ctx context.Context) error {
		_, err := a.Wait(ctx) // stuck: swapped-a
		return err
	}, func(ctx context.Context) error {
		_, err := b.Wait(ctx) // stuck: swapped-b
		return err
	})
	acquire := func(sem *meanwhile.Semaphore) func(context.Context) error {
		return func(ctx context.Context) error {
			return sem.Acquire(ctx, 1) // stuck: swapped-acquire
		}
	}
	one := meanwhile.NewSemaphore(1) // stuck: swapped-one
	two := meanwhile.NewSemaphore(1) // stuck: swapped-two
	if !one.TryAcquire(1) || !two.TryAcquire(1) {
		return errors.New("a new semaphore is not free")
	}
	pair("e", "f", acquire(one), acquire(two))
	return nil
}

// sameLine has tasks that wait at the same line, each for something else.
func sameLine(ctx context.Context) error {
	mu, written, read := new(sync.Mutex), new(sync.RWMutex), new(sync.RWMutex)
	mu.Lock()
	written.Lock()
	read.RLock()
	lock := func(name string, l sync.Locker) *meanwhile.Task[struct{}] {
		return meanwhile.Go(ctx, func(context.Context) error {
			l.Lock() // stuck: same-lock
			defer l.Unlock()
			return nil
		}, meanwhile.Name(name))
	}
	wait := func(name string, t *meanwhile.Task[struct{}]) {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := t.Wait(ctx) // stuck: same-wait
			return err
		}, meanwhile.Name(name))
	}
	sleep := func(name string, d time.Duration) {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, d) // stuck: same-sleep
		}, meanwhile.Name(name))
	}
	locking := lock("mutex", mu)
	lock("writer", read)
	reading := lock("reader", written.RLocker())
	wait("a", locking)
	wait("b", reading)
	sleep("hour", time.Hour)
	sleep("day", 24*time.Hour)
	return nil
}
