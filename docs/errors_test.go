package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func Example_taskError() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_, err := os.ReadFile("no-such-file")
				return err
			}, meanwhile.Name("read"))
			return nil
		}, meanwhile.Name("import"))
		return nil
	}, meanwhile.Name("night"))

	var task *meanwhile.TaskError
	if errors.As(err, &task) {
		fmt.Println("task: ", task.Path)
		fmt.Println("error:", task.Err)
	}
	fmt.Println("is it fs.ErrNotExist?", errors.Is(err, os.ErrNotExist))
	// Output:
	// task:  night/import/read
	// error: open no-such-file: no such file or directory
	// is it fs.ErrNotExist? true
}

func Example_panic() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			panic("no limits are set")
		}, meanwhile.Name("limits"))
		return nil
	})

	var p *meanwhile.PanicError
	if errors.As(err, &p) {
		fmt.Println("panic:", p.Value)
		fmt.Println("the stack names the function:", strings.Contains(string(p.Stack), "Example_panic"))
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Println(line)
	// Output:
	// panic: no limits are set
	// the stack names the function: true
	// task run/limits: panic: no limits are set
}

func Example_joined() {
	disk := errors.New("disk full")
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return errNotFound // the first failure
		}, meanwhile.Name("a"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			return disk // a failure of its own, after it was canceled
		}, meanwhile.Name("b"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, time.Hour) // ends because it is canceled
		}, meanwhile.Name("c"))
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, errNotFound), errors.Is(err, disk), errors.Is(err, context.Canceled))
	// Output:
	// task run/a: not found (and 1 more: task run/b: disk full)
	// true true false
}

func Example_observed() {
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		cache := meanwhile.Async(ctx, func(ctx context.Context) (string, error) { return fetch(ctx, "/missing") })
		if _, err := cache.Wait(ctx); err != nil {
			fmt.Println("without the cache, because", err)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// without the cache, because task supervise/#1: fetch /missing: not found
	// <nil>
}

func Example_waitDoesNotHandle() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		cache := meanwhile.Async(ctx, func(ctx context.Context) (string, error) { return fetch(ctx, "/missing") })
		_, _ = cache.Wait(ctx) // too late: the failure has canceled the scope
		return nil
	})
	fmt.Println(err)
	// Output:
	// task run/#1: fetch /missing: not found
}

func Example_optional() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		extra := meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
			page, err := fetch(ctx, "/missing")
			if errors.Is(err, errNotFound) {
				return "nothing", nil // a result as good as another
			}
			return page, err
		})
		text, err := extra.Wait(ctx)
		fmt.Println(text)
		return err
	})
	fmt.Println(err)
	// Output:
	// nothing
	// <nil>
}
