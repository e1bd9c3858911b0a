package docs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func Example_cause() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			fmt.Println("Err:  ", ctx.Err())
			fmt.Println("Cause:", context.Cause(ctx))
			return ctx.Err()
		})
		return errNotFound
	})
	fmt.Println("Run:  ", err)
	// Output:
	// Err:   context canceled
	// Cause: not found
	// Run:   not found
}

func Example_cancel() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		search := meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, time.Hour)
		}, meanwhile.Name("search"))
		search.Cancel(errors.New("the user has typed on"))
		_, err := search.Wait(ctx)
		fmt.Println(err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// task run/search: context canceled: the user has typed on
	// <nil>
}

func Example_timeout() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, time.Hour)
		}, meanwhile.Name("report"), meanwhile.Timeout(10*time.Millisecond))
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// task run/report: context deadline exceeded: the timeout of 10ms is over
	// true
}

func Example_outside() {
	shutdown := errors.New("the server shuts down")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(5*time.Millisecond, func() { cancel(shutdown) })

	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) })
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, shutdown))
	// Output:
	// context canceled: the server shuts down
	// true true
}

func Example_shield() {
	ctx, cancel := context.WithCancelCause(context.Background())
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		cancel(errors.New("ctrl-C"))
		fmt.Println("canceled:", ctx.Err() != nil)
		return meanwhile.Shield(ctx, time.Second, func(ctx context.Context) error {
			fmt.Println("in the shield:", ctx.Err() != nil)
			return step(ctx) // writes what must be written
		})
	})
	fmt.Println(err)
	// Output:
	// canceled: true
	// in the shield: false
	// <nil>
}

// sum looks at ctx now and then: a loop that only computes does not notice a cancellation by itself.
func sum(ctx context.Context, numbers []int) (total int, err error) {
	for i, n := range numbers {
		if i%1024 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		total += n
	}
	return total, nil
}

func Example_compute() {
	total, err := sum(context.Background(), []int{1, 2, 3})
	fmt.Println(total, err)
	// Output:
	// 6 <nil>
}

func Example_standard() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Millisecond, errors.New("the price is stale"))
		defer cancel()
		quote := meanwhile.Async(ctx, func(ctx context.Context) (string, error) { return fetch(ctx, "/slow") })
		_, err := quote.Wait(ctx)
		return err
	})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// true
}
