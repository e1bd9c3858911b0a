package main

import "context"

// receipts prints what was paid. The function that should send it has returned early and has not closed the channel.
func receipts(context.Context) error {
	paid := make(chan string)
	for order := range paid {
		deliver(order)
	}
	return nil
}
