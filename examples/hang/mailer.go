package main

import (
	"context"
	"errors"

	"github.com/meanwhile-go/meanwhile"
)

// mailer has a letter printed, then cancels the printer. The printer ignores its cancellation.
func mailer(ctx context.Context) error {
	paper := make(chan string) // no goroutine receives from it
	printer := meanwhile.Go(ctx, func(context.Context) error {
		paper <- "Dear customer"
		return nil
	}, meanwhile.Name("printer"))
	printer.Cancel(errors.New("the letter goes by mail"))
	_, err := printer.Wait(ctx)
	return err
}
