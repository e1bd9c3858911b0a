package main

import (
	"context"
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "task", start: task, want: []want{
			{path: "parent", wait: "task", on: "stuck/parent/child", at: "task"},
			{path: "parent/child", wait: "receive", at: "task-child"},
		}},
		stuckCase{name: "joining", start: joining, want: []want{
			{path: "parent", wait: "tasks", state: "joining"},
			{path: "parent/child", wait: "receive", at: "joining-child"},
		}},
		stuckCase{name: "run", start: run, want: []want{
			{path: "outer", wait: "task", on: "stuck/outer/inner", at: "run"},
			{path: "outer/inner", wait: "task", on: "stuck/outer/inner/shield", at: "run-inner"},
			{path: "outer/inner/shield", wait: "receive", at: "run-shield"},
		}},
		stuckCase{name: "run-joining", start: runJoining, want: []want{
			{path: "outer", wait: "task", on: "stuck/outer/run", at: "run-joining"},
			{path: "outer/run", wait: "tasks", state: "joining"},
			{path: "outer/run/child", wait: "receive", at: "run-child"},
		}},
		stuckCase{name: "any", start: anyOf, want: []want{
			{path: "outer", wait: "task", on: "stuck/outer/any", at: "any"},
			{path: "outer/any", wait: "tasks", state: "joining"},
			{path: "outer/any/#1", wait: "receive", at: "any-one"},
			{path: "outer/any/#2", wait: "sleep", at: "any-two", until: time.Hour},
		}},
		stuckCase{name: "canceled", start: canceled, want: []want{
			{path: "ignores", wait: "receive", at: "canceled", state: "canceled"},
		}},
		stuckCase{name: "deadlock", start: deadlock, want: []want{
			{path: "a", wait: "task", on: "stuck/b", at: "deadlock-a", deadlock: true},
			{path: "b", wait: "task", on: "stuck/a", at: "deadlock-b", deadlock: true},
		}},
		stuckCase{name: "deadlock-ring", start: deadlockRing, want: []want{
			{path: "a", wait: "task", on: "stuck/b", at: "ring-a", deadlock: true},
			{path: "b", wait: "task", on: "stuck/c", at: "ring-b", deadlock: true},
			{path: "c", wait: "task", on: "stuck/a", at: "ring-c", deadlock: true},
			{path: "outside", wait: "task", on: "stuck/a", at: "ring-outside"},
		}},
		stuckCase{name: "deadlock-below", start: deadlockBelow, want: []want{
			{path: "a", wait: "task", on: "stuck/b", at: "below-a", deadlock: true},
			{path: "b/child", wait: "task", on: "stuck/a", at: "below-child", deadlock: true},
		}},
		stuckCase{name: "deadlock-background", start: deadlockBackground, want: []want{
			{path: "a", wait: "task", on: "stuck/b", at: "background-a", deadlock: true},
			{path: "b", wait: "task", on: "stuck/a", at: "background-b", deadlock: true},
			{path: "outside", wait: "task", on: "stuck/a", at: "background-outside"},
		}},
		stuckCase{name: "deadlock-contexts", start: deadlockContexts, want: []want{
			{path: "a", wait: "task", on: "stuck/b", at: "contexts-a", deadlock: true},
			{path: "b", wait: "task", on: "stuck/c", at: "contexts-b", deadlock: true},
			{path: "c", wait: "task", on: "stuck/a", at: "contexts-c", deadlock: true},
		}},
		stuckCase{name: "deadlock-scope", start: deadlockScope, want: []want{
			{path: "a", wait: "task", on: "stuck/a/run", at: "scope-a"},
			{path: "a/run", wait: "task", on: "stuck/b", at: "scope-run", deadlock: true},
			{path: "b", wait: "task", on: "stuck/a", at: "scope-b", deadlock: true},
		}},
		stuckCase{name: "wait-background", start: waitBackground, want: []want{
			{path: "child", wait: "receive", at: "lone-child"},
			{path: "mixed", wait: "task", on: "stuck/child", at: "lone-mixed", vague: true},
			{path: "receiver", wait: "receive", at: "lone-receive"},
			{path: "changing", wait: "task", on: "stuck/child", at: "lone-second"},
		}, also: []string{"lone-mixed-too", "lone-receive-too"}},
	)
}

func task(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		child := meanwhile.Async(ctx, func(context.Context) (int, error) {
			return <-ch, nil // stuck: task-child
		}, meanwhile.Name("child"))
		_, err := child.Wait(ctx) // stuck: task
		return err
	}, meanwhile.Name("parent"))
	return nil
}

func joining(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(context.Context) error {
			<-ch // stuck: joining-child
			return nil
		}, meanwhile.Name("child"))
		return nil
	}, meanwhile.Name("parent"))
	return nil
}

// run has three tasks in one goroutine: each scope is a task, and is called by the function of the task above it.
func run(ctx context.Context) error {
	ch := make(chan int)
	finish := func(context.Context) error {
		<-ch // stuck: run-shield
		return nil
	}
	work := func(ctx context.Context) error {
		return meanwhile.Shield(ctx, time.Second, finish) // stuck: run-inner
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Run(ctx, work, meanwhile.Name("inner")) // stuck: run
	}, meanwhile.Name("outer"))
	return nil
}

func runJoining(ctx context.Context) error {
	ch := make(chan int)
	work := func(ctx context.Context) error {
		meanwhile.Go(ctx, func(context.Context) error {
			<-ch // stuck: run-child
			return nil
		}, meanwhile.Name("child"))
		return nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Run(ctx, work) // stuck: run-joining
	}, meanwhile.Name("outer"))
	return nil
}

func anyOf(ctx context.Context) error {
	ch := make(chan int)
	one := func(context.Context) (int, error) {
		return <-ch, nil // stuck: any-one
	}
	two := func(ctx context.Context) (int, error) {
		return 0, meanwhile.Sleep(ctx, time.Hour) // stuck: any-two
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := meanwhile.Any(ctx, one, two) // stuck: any
		return err
	}, meanwhile.Name("outer"))
	return nil
}

// canceled has a task that ignores its cancellation.
func canceled(ctx context.Context) error {
	ch := make(chan int)
	ignores := meanwhile.Go(ctx, func(context.Context) error {
		<-ch // stuck: canceled
		return nil
	}, meanwhile.Name("ignores"))
	ignores.Cancel(nil)
	return nil
}

// An other passes on a task to wait for, which may not have been started yet.
type other chan *meanwhile.Task[struct{}]

func deadlock(ctx context.Context) error {
	a, b := make(other, 1), make(other, 1)
	a <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-b).Wait(ctx) // stuck: deadlock-a
		return err
	}, meanwhile.Name("a"))
	b <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-a).Wait(ctx) // stuck: deadlock-b
		return err
	}, meanwhile.Name("b"))
	return nil
}

// deadlockRing has three tasks that wait for each other, and one that waits for them without being part of it.
func deadlockRing(ctx context.Context) error {
	a, b, c := make(other, 2), make(other, 1), make(other, 1)
	first := meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-b).Wait(ctx) // stuck: ring-a
		return err
	}, meanwhile.Name("a"))
	a <- first
	a <- first
	b <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-c).Wait(ctx) // stuck: ring-b
		return err
	}, meanwhile.Name("b"))
	c <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-a).Wait(ctx) // stuck: ring-c
		return err
	}, meanwhile.Name("c"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-a).Wait(ctx) // stuck: ring-outside
		return err
	}, meanwhile.Name("outside"))
	return nil
}

// deadlockBelow has a task wait for one that cannot end before its child, which waits for the first.
func deadlockBelow(ctx context.Context) error {
	a, b := make(other, 1), make(other, 1)
	a <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-b).Wait(ctx) // stuck: below-a
		return err
	}, meanwhile.Name("a"))
	b <- meanwhile.Go(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := (<-a).Wait(ctx) // stuck: below-child
			return err
		}, meanwhile.Name("child"))
		return nil
	}, meanwhile.Name("b"))
	return nil
}

// deadlockBackground has two tasks wait for each other with context.Background, and one that waits for them in the same way.
func deadlockBackground(ctx context.Context) error {
	a, b := make(other, 2), make(other, 1)
	first := meanwhile.Go(ctx, func(context.Context) error {
		_, err := (<-b).Wait(context.Background()) // stuck: background-a
		return err
	}, meanwhile.Name("a"))
	a <- first
	a <- first
	b <- meanwhile.Go(ctx, func(context.Context) error {
		_, err := (<-a).Wait(context.Background()) // stuck: background-b
		return err
	}, meanwhile.Name("b"))
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := (<-a).Wait(context.Background()) // stuck: background-outside
		return err
	}, meanwhile.Name("outside"))
	return nil
}

// deadlockContexts has three tasks wait for each other: with a ctx that belongs to no task and has a deadline, with one of context.WithoutCancel, and
// with the ctx of the task.
func deadlockContexts(ctx context.Context) error {
	a, b, c := make(other, 1), make(other, 1), make(other, 1)
	a <- meanwhile.Go(ctx, func(context.Context) error {
		foreign, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		_, err := (<-b).Wait(foreign) // stuck: contexts-a
		return err
	}, meanwhile.Name("a"))
	b <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-c).Wait(context.WithoutCancel(ctx)) // stuck: contexts-b
		return err
	}, meanwhile.Name("b"))
	c <- meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := (<-a).Wait(ctx) // stuck: contexts-c
		return err
	}, meanwhile.Name("c"))
	return nil
}

// deadlockScope has a scope inside a task wait for another task, which waits for the first.
func deadlockScope(ctx context.Context) error {
	a, b := make(other, 1), make(other, 1)
	a <- meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Run(ctx, func(context.Context) error { // stuck: scope-a
			_, err := (<-b).Wait(context.Background()) // stuck: scope-run
			return err
		})
	}, meanwhile.Name("a"))
	b <- meanwhile.Go(ctx, func(context.Context) error {
		_, err := (<-a).Wait(context.Background()) // stuck: scope-b
		return err
	}, meanwhile.Name("b"))
	return nil
}

// waitBackground has tasks wait with context.Background, while goroutines that they started do the same for other tasks.
func waitBackground(ctx context.Context) error {
	ch := make(chan int)
	receive := func(context.Context) error {
		<-ch // stuck: lone-child
		return nil
	}
	child := meanwhile.Go(ctx, receive, meanwhile.Name("child"))
	receiver := meanwhile.Go(ctx, func(context.Context) error {
		go func() {
			_, _ = child.Wait(context.Background()) // stuck: lone-receive-too
		}()
		<-ch // stuck: lone-receive
		return nil
	}, meanwhile.Name("receiver"))
	meanwhile.Go(ctx, func(context.Context) error {
		go func() {
			_, _ = receiver.Wait(context.Background()) // stuck: lone-mixed-too
		}()
		_, err := child.Wait(context.Background()) // stuck: lone-mixed
		return err
	}, meanwhile.Name("mixed"))
	meanwhile.Go(ctx, func(context.Context) error {
		impatient, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := receiver.Wait(impatient); err == nil {
			return errors.New("the receiver has ended")
		}
		_, err := child.Wait(context.Background()) // stuck: lone-second
		return err
	}, meanwhile.Name("changing"))
	return nil
}
