package main

import "context"

// receipts prints each paid order. The function that was to send the orders has returned early without closing the channel.
func receipts(context.Context) error {
	paid := make(chan string)
	for order := range paid {
		deliver(order)
	}
	return nil
}
