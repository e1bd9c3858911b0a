package main

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile"
)

// parcels sends a parcel with its invoice. The parcel waits for the invoice, and the invoice for the weight of the parcel.
func parcels(ctx context.Context) error {
	packed := make(chan *meanwhile.Task[int], 1)
	invoice := meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
		parcel := <-packed
		grams, err := parcel.Wait(ctx)
		return fmt.Sprintf("postage for %d g", grams), err
	}, meanwhile.Name("invoice"))
	packed <- meanwhile.Async(ctx, func(ctx context.Context) (int, error) {
		text, err := invoice.Wait(ctx)
		return 500 + len(text), err
	}, meanwhile.Name("parcel"))
	return nil
}
