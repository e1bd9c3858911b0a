package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

func init() {
	know(
		stuckCase{name: "semaphore", start: semaphore, want: []want{
			{path: "waiter", wait: "semaphore", at: "semaphore", has: []string{"1 of 1", "@semaphore-made", "taken by stuck"}},
		}},
		stuckCase{name: "semaphore-deadlock", start: semaphoreDeadlock, want: []want{
			{path: "a", wait: "semaphore", at: "swap-second", has: []string{"1 of 1", "@swap-two", "taken by stuck/b"}, deadlock: true},
			{path: "b", wait: "semaphore", at: "swap-second", has: []string{"1 of 1", "@swap-one", "taken by stuck/a"}, deadlock: true},
			{path: "outside", wait: "semaphore", at: "swap-outside", has: []string{"@swap-one", "taken by stuck/a"}},
		}},
		stuckCase{name: "semaphore-and-task", start: semaphoreAndTask, want: []want{
			{path: "a", wait: "task", on: "stuck/a/run", at: "mixed-scope"},
			{path: "a/run", wait: "task", on: "stuck/b", at: "mixed-wait", deadlock: true},
			{path: "b", wait: "semaphore", at: "mixed-acquire", has: []string{"@mixed-made", "taken by stuck/a"}, deadlock: true},
		}},
		stuckCase{name: "semaphore-handed", start: semaphoreHanded, want: []want{
			{path: "a", wait: "semaphore", at: "handed-second", has: []string{"taken by stuck/b"}},
			{path: "b", wait: "semaphore", at: "handed-second", has: []string{"taken by stuck/a"}},
		}, also: []string{"handed-holder", "handed-holder"}},
		stuckCase{name: "max-tasks", start: maxTasks, want: []want{
			{path: "scope", wait: "task", on: "stuck/scope/run", at: "max-tasks-run"},
			{path: "scope/run", wait: "limit", on: "2", at: "max-tasks"},
			{path: "scope/run/holder", wait: "receive", at: "max-tasks-holder"},
			{path: "scope/run/starter", wait: "limit", on: "2", at: "max-tasks-async"},
		}},
		stuckCase{name: "rate", start: rate, want: []want{{path: "waiter", wait: "rate", at: "rate", until: time.Hour}}},
		stuckCase{name: "retry", start: retryTask, want: []want{{path: "waiter", wait: "retry", until: time.Hour}}},
		stuckCase{name: "retry-scope", start: retryScope, want: []want{
			{path: "waiter", wait: "task", on: "stuck/waiter/again", at: "retry-scope"},
			{path: "waiter/again", wait: "retry", until: time.Hour, anyPlace: true},
		}},
		stuckCase{name: "blocking-queue", start: blockingQueue, want: []want{
			{path: "late", wait: "blocking", at: "blocking-queue"},
		}},
		stuckCase{name: "blocking-abandoned", start: blockingAbandoned, want: []want{
			{path: "caller", wait: "receive", at: "after-abandoning"},
			{path: "caller/blocking", wait: "receive", at: "abandoned", state: "abandoned"},
		}},
		stuckCase{name: "blocking-orphan", start: blockingOrphan, want: []want{
			{path: "caller/blocking", wait: "receive", at: "orphan", state: "abandoned"},
		}},
	)
}

func semaphore(ctx context.Context) error {
	sem := meanwhile.NewSemaphore(1) // stuck: semaphore-made
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return sem.Acquire(ctx, 1) // stuck: semaphore
	}, meanwhile.Name("waiter"))
	return nil
}

// semaphoreDeadlock has two tasks that acquire two semaphores in opposite order, and one that waits for them.
func semaphoreDeadlock(ctx context.Context) error {
	one := meanwhile.NewSemaphore(1) // stuck: swap-one
	two := meanwhile.NewSemaphore(1) // stuck: swap-two
	var both sync.WaitGroup
	both.Add(2)
	take := func(first, second *meanwhile.Semaphore) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := first.Acquire(ctx, 1); err != nil {
				return err
			}
			defer first.Release(1)
			both.Done()
			both.Wait()
			return second.Acquire(ctx, 1) // stuck: swap-second
		}
	}
	meanwhile.Go(ctx, take(one, two), meanwhile.Name("a"))
	meanwhile.Go(ctx, take(two, one), meanwhile.Name("b"))
	for one.Waiting() == 0 || two.Waiting() == 0 { // otherwise the task outside could be before b in the queue, and b would wait for it as well
		if err := meanwhile.Sleep(ctx, glance); err != nil {
			return err
		}
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return one.Acquire(ctx, 1) // stuck: swap-outside
	}, meanwhile.Name("outside"))
	return nil
}

// semaphoreAndTask has a task that waits, in a scope, for another task, which waits for the semaphore that the first has acquired.
func semaphoreAndTask(ctx context.Context) error {
	sem := meanwhile.NewSemaphore(1) // stuck: mixed-made
	b := make(other, 1)
	taken := make(chan struct{})
	meanwhile.Go(ctx, func(ctx context.Context) error {
		if err := sem.Acquire(ctx, 1); err != nil {
			return err
		}
		defer sem.Release(1)
		close(taken)
		return meanwhile.Run(ctx, func(ctx context.Context) error { // stuck: mixed-scope
			_, err := (<-b).Wait(ctx) // stuck: mixed-wait
			return err
		})
	}, meanwhile.Name("a"))
	b <- meanwhile.Go(ctx, func(ctx context.Context) error {
		<-taken
		return sem.Acquire(ctx, 1) // stuck: mixed-acquire
	}, meanwhile.Name("b"))
	return nil
}

// semaphoreHanded has two tasks, each of which waits for the semaphore that the other has acquired and passed to a goroutine, which will release it.
func semaphoreHanded(ctx context.Context) error {
	one, two := meanwhile.NewSemaphore(1), meanwhile.NewSemaphore(1)
	var both sync.WaitGroup
	both.Add(2)
	take := func(first, second *meanwhile.Semaphore) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := first.Acquire(ctx, 1); err != nil {
				return err
			}
			go func() {
				<-ctx.Done() // stuck: handed-holder
				first.Release(1)
			}()
			both.Done()
			both.Wait()
			return second.Acquire(ctx, 1) // stuck: handed-second
		}
	}
	meanwhile.Go(ctx, take(one, two), meanwhile.Name("a"))
	meanwhile.Go(ctx, take(two, one), meanwhile.Name("b"))
	return nil
}

// maxTasks has a scope with as many tasks as it may have. One of them starts another task there, and so does the function of the scope.
func maxTasks(ctx context.Context) error {
	ch := make(chan int)
	fill := func(ctx context.Context) error {
		meanwhile.Go(ctx, func(context.Context) error {
			<-ch // stuck: max-tasks-holder
			return nil
		}, meanwhile.Name("holder"))
		meanwhile.Go(ctx, func(context.Context) error {
			_, err := meanwhile.Async(ctx, func(context.Context) (int, error) { return 0, nil }).Wait(ctx) // stuck: max-tasks-async
			return err
		}, meanwhile.Name("starter"))
		meanwhile.Go(ctx, func(context.Context) error { return nil }) // stuck: max-tasks
		return nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Run(ctx, fill, meanwhile.MaxTasks(2)) // stuck: max-tasks-run
	}, meanwhile.Name("scope"))
	return nil
}

func rate(ctx context.Context) error {
	pacer := meanwhile.Rate(1, time.Hour)
	if err := pacer.Wait(ctx); err != nil { // the first turn comes at once
		return err
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return pacer.Wait(ctx) // stuck: rate
	}, meanwhile.Name("waiter"))
	return nil
}

var errNotToday = errors.New("not today")

// hourly retries with a pause of an hour.
var hourly = meanwhile.Retry(retry.Policy{Base: time.Hour, Max: time.Hour, Jitter: -1})

func retryTask(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		return errNotToday
	}, meanwhile.Name("waiter"), hourly)
	return nil
}

func retryScope(ctx context.Context) error {
	fail := func(context.Context) error { return errNotToday }
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Run(ctx, fail, meanwhile.Name("again"), hourly) // stuck: retry-scope
	}, meanwhile.Name("waiter"))
	return nil
}

// mostBlocking is how many calls of Blocking run at once.
const mostBlocking = 100

func blockingQueue(ctx context.Context) error {
	ch, begun := make(chan int), make(chan struct{}, mostBlocking)
	hang := func() (int, error) {
		begun <- struct{}{}
		return <-ch, nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range mostBlocking {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_, err := meanwhile.Blocking(ctx, hang)
				return err
			})
		}
		return nil
	}, meanwhile.Name("early"))
	for range mostBlocking {
		<-begun
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := meanwhile.Blocking(ctx, hang) // stuck: blocking-queue
		return err
	}, meanwhile.Name("late"))
	return nil
}

// blockingAbandoned abandons a call, which continues nevertheless, and then waits for something else.
func blockingAbandoned(ctx context.Context) error {
	ch, begun := make(chan int), make(chan struct{})
	hang := func() (int, error) {
		close(begun)
		return <-ch, nil // stuck: abandoned
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		impatient, cancel := context.WithCancel(ctx)
		meanwhile.Go(ctx, func(context.Context) error {
			<-begun
			cancel()
			return nil
		})
		if _, err := meanwhile.Blocking(impatient, hang); !errors.Is(err, context.Canceled) {
			return err
		}
		<-ch // stuck: after-abandoning
		return nil
	}, meanwhile.Name("caller"))
	return nil
}

// blockingOrphan abandons a call and ends, while the call continues.
func blockingOrphan(ctx context.Context) error {
	ch, begun := make(chan int), make(chan struct{})
	hang := func() (int, error) {
		close(begun)
		return <-ch, nil // stuck: orphan
	}
	caller := meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := meanwhile.Blocking(ctx, hang)
		return err
	}, meanwhile.Name("caller"))
	<-begun
	caller.Cancel(nil)
	<-caller.Done()
	return nil
}
