package docs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func Example_results() {
	ctx := context.Background()
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		user := meanwhile.Async(ctx, findUser)
		orders := meanwhile.Async(ctx, findOrders)
		name, err := user.Wait(ctx)
		if err != nil {
			return err
		}
		count, err := orders.Wait(ctx)
		if err != nil {
			return err
		}
		fmt.Println(name, "has", count, "orders")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// Ada has 3 orders
}

func Example_many() {
	ctx := context.Background()
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/c"}))
	for page, err := range meanwhile.Map(ctx, urls, fetch, meanwhile.Limit(8)) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(page)
	}
	// Output:
	// page /a
	// page /b
	// page /c
}

func Example_firstFailure() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/missing")
			return err
		}, meanwhile.Name("fetch"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			return meanwhile.Sleep(ctx, time.Hour)
		}, meanwhile.Name("nap"))
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, errNotFound))
	// Output:
	// task run/fetch: fetch /missing: not found
	// true
}
