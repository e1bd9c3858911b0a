package main

import (
	"context"
	"errors"

	"github.com/meanwhile-go/meanwhile"
)

// mailer has a letter printed, then changes its mind. The printer does not listen.
func mailer(ctx context.Context) error {
	paper := make(chan string) // there is none
	printer := meanwhile.Go(ctx, func(context.Context) error {
		paper <- "Dear customer"
		return nil
	}, meanwhile.Name("printer"))
	printer.Cancel(errors.New("the letter goes by mail"))
	_, err := printer.Wait(ctx)
	return err
}
