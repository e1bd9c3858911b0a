package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
)

func Example_all() {
	pages, err := meanwhile.All(context.Background(),
		func(ctx context.Context) (string, error) { return fetch(ctx, "/a") },
		func(ctx context.Context) (string, error) { return fetch(ctx, "/b") },
	)
	fmt.Println(pages, err)
	// Output:
	// [page /a page /b] <nil>
}

func Example_any() {
	page, err := meanwhile.Any(context.Background(),
		func(ctx context.Context) (string, error) { return fetch(ctx, "/missing") },
		func(ctx context.Context) (string, error) { return fetch(ctx, "/slow") },
		func(ctx context.Context) (string, error) { return fetch(ctx, "/mirror") },
	)
	fmt.Println(page, err)
	// Output:
	// page /mirror <nil>
}

// loadProfile returns when both parts are there, or when one has failed and the other has ended. Whoever calls it need
// not know that it does two things at once.
func loadProfile(ctx context.Context) (name string, orders int, err error) {
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			name, err = findUser(ctx)
			return err
		})
		orders, err = findOrders(ctx)
		return err
	}, meanwhile.Name("profile"))
	return name, orders, err
}

// refresh starts a task in the scope of its caller and returns at once: the doc comment has to say so.
func refresh(ctx context.Context) {
	meanwhile.Go(ctx, step, meanwhile.Name("refresh"))
}

func Example_nesting() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		refresh(ctx)
		name, orders, err := loadProfile(ctx)
		fmt.Println(name, orders)
		return err
	})
	fmt.Println(err)
	// Output:
	// Ada 3
	// <nil>
}

func Example_handle() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, step)
		err := meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error { return errNotFound })
			return nil
		})
		if errors.Is(err, errNotFound) {
			fmt.Println("the inner scope failed; the outer goes on")
			err = nil
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// the inner scope failed; the outer goes on
	// <nil>
}

func Example_supervise() {
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return errors.New("no mail server") }, meanwhile.Name("mail"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			if err := meanwhile.Sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
			fmt.Println("the pages are served all the same")
			return nil
		}, meanwhile.Name("pages"))
		return nil
	})
	fmt.Println(err)
	// Output:
	// the pages are served all the same
	// task supervise/mail: no mail server
}

func Example_background() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			fmt.Println("canceled:", context.Cause(ctx))
			return nil
		}, meanwhile.InBackground())
		fmt.Println("the work is done")
		return nil
	})
	fmt.Println(err)
	// Output:
	// the work is done
	// canceled: the scope has ended, and with it its background tasks
	// <nil>
}

func Example_every() {
	beats := 0
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Every(ctx, 10*time.Millisecond, func(ctx context.Context) error {
			beats++
			return nil
		})
		return meanwhile.Sleep(ctx, 100*time.Millisecond)
	})
	fmt.Println(beats > 2, err)
	// Output:
	// true <nil>
}

// connections is shared by everything in the process that talks to the database.
var connections = meanwhile.NewSemaphore(4)

func query(ctx context.Context) (string, error) {
	if err := connections.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer connections.Release(1)
	return findUser(ctx)
}

func Example_semaphore() {
	name, err := query(context.Background())
	fmt.Println(name, err, connections.InUse())
	// Output:
	// Ada <nil> 0
}

// TestLimitForAScope reads folders, at most eight at once.
func TestLimitForAScope(t *testing.T) {
	ctx, folders := t.Context(), []string{"a", "b"}
	var read atomic.Int32
	readFolder := func(string) error { read.Add(1); return nil }
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		for _, folder := range folders {
			meanwhile.Go(ctx, func(context.Context) error { return readFolder(folder) })
		}
		return nil
	}, meanwhile.MaxTasks(8))
	if err != nil || read.Load() != 2 {
		t.Errorf("read %d folders, %v", read.Load(), err)
	}
}

func oldDriver() (int, error) {
	time.Sleep(time.Millisecond)
	return 42, nil
}

func Example_blocking() {
	answer, err := meanwhile.Blocking(context.Background(), func() (int, error) {
		return oldDriver() // takes no ctx
	})
	fmt.Println(answer, err)
	// Output:
	// 42 <nil>
}

func Example_tree() {
	_ = meanwhile.Run(context.Background(), func(ctx context.Context) error {
		index := meanwhile.Go(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.Name("a.txt"))
			meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }, meanwhile.Name("b.txt"))
			return nil
		}, meanwhile.Name("index"))
		defer index.Cancel(nil)

		_ = meanwhile.Sleep(ctx, 20*time.Millisecond)
		for _, task := range inspect.Tree(ctx).Tasks[0].Tasks {
			fmt.Println(task.Path, "waits for", task.Wait.For, "in", task.Wait.Call)
		}
		return nil
	}, meanwhile.Name("search"))
	// Output:
	// search/index/a.txt waits for sleep in github.com/meanwhile-go/meanwhile.Sleep
	// search/index/b.txt waits for sleep in github.com/meanwhile-go/meanwhile.Sleep
}

func Example_observe() {
	slow := func(e meanwhile.Event) {
		if e.Kind == meanwhile.TaskEnded && e.Elapsed > time.Second {
			log.Printf("%s took %v", e.Path, e.Elapsed)
		}
	}
	err := meanwhile.Run(context.Background(), step, meanwhile.Observe(slow))
	fmt.Println(err)
	// Output:
	// <nil>
}

func Example_waitIsNotTheTask() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		report := meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
			return "report", meanwhile.Sleep(ctx, 200*time.Millisecond)
		})
		short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		_, err := report.Wait(short)
		fmt.Println("first:", err)
		text, err := report.Wait(ctx)
		fmt.Println("then:", text)
		return err
	})
	fmt.Println(err)
	// Output:
	// first: context deadline exceeded
	// then: report
	// <nil>
}

func Example_canceledScope() {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stopped)
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		fmt.Println("called all the same, with:", context.Cause(ctx))
		return step(ctx)
	})
	fmt.Println(err)
	// Output:
	// called all the same, with: stopped
	// context canceled: stopped
}
