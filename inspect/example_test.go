package inspect_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
)

// untilWaiting returns when the tasks below ctx's task wait for the given things in order, and are not just starting.
func untilWaiting(ctx context.Context, waits ...string) {
	for i := 0; i < len(waits); {
		if inspect.Tree(ctx).Tasks[i].Wait.For == waits[i] {
			i++
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

// The tree is a value: it can be shown on a page, sent as JSON, or searched for canceled tasks that still run.
func ExampleTree() {
	read := func(ctx context.Context) error {
		_, err := fetch(ctx, "/slow")
		return err
	}
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, read, meanwhile.Name("a.txt"), meanwhile.InBackground())
		meanwhile.Go(ctx, read, meanwhile.Name("b.txt"), meanwhile.InBackground())
		for _, task := range inspect.Tree(ctx).Tasks {
			fmt.Println(task.Kind, task.Path, task.State)
		}
		return nil
	}, meanwhile.Name("index"))
	fmt.Println(err)
	// Output:
	// task index/a.txt running
	// task index/b.txt running
	// <nil>
}

func ExampleScopes() {
	wait := func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		for range 3 {
			meanwhile.Go(ctx, wait, meanwhile.InBackground())
		}
		for name, tasks := range inspect.Scopes() {
			fmt.Println(name, tasks)
		}
		return nil
	}, meanwhile.Name("index"))
	fmt.Println(err)
	// Output:
	// index 4
	// <nil>
}

func ExampleNode_String() {
	quiet := make(chan string) // no goroutine sends on it
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, time.Hour)
		}, meanwhile.Name("timer"), meanwhile.InBackground())
		meanwhile.Go(ctx, func(ctx context.Context) error {
			select {
			case <-quiet:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, meanwhile.Name("reader"), meanwhile.InBackground())

		untilWaiting(ctx, "sleep", "select")
		for _, task := range inspect.Tree(ctx).Tasks {
			task.Wait.Line, task.Wait.Until, task.Wait.Snapshots = 31, time.Time{}, 1 // to make the output deterministic
			fmt.Print(task)
		}
		return nil
	}, meanwhile.Name("service"))
	fmt.Println(err)
	// Output:
	// timer: sleep, example_test.go:31 (meanwhile.Sleep)
	// reader: select, example_test.go:31
	// <nil>
}

// While a watch runs, its snapshots show how the tasks spend their time.
func ExampleWaits() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		var orders sync.WaitGroup
		orders.Add(3)
		for range 3 {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				orders.Done()
				return meanwhile.Sleep(ctx, time.Hour)
			}, meanwhile.Name("order"), meanwhile.InBackground())
		}
		orders.Wait()
		inspect.Watch(ctx, inspect.WatchConfig{})

		var p inspect.WaitProfile
		for p.Snapshots < 3 {
			if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
			p = inspect.Waits()
		}
		most := p.Tasks[0]
		fmt.Println(most.Name, "spends most of its time in", most.Waits[0].Wait.For)
		return nil
	}, meanwhile.Name("shop"))
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop/order spends most of its time in sleep
}
