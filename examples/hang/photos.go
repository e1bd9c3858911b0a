package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/meanwhile-go/meanwhile"
)

// uploads limits how many photos are sent at the same time.
var uploads = meanwhile.NewSemaphore(2)

// photos sends three photos.
func photos(ctx context.Context, url string) error {
	for i := range 3 {
		if err := uploads.Acquire(ctx, 1); err != nil {
			return err
		}
		meanwhile.Go(ctx, func(ctx context.Context) error {
			defer uploads.Release(1)
			return upload(ctx, url)
		}, meanwhile.Name(fmt.Sprint("photo ", i+1)))
	}
	return nil
}

// upload sends one photo. It uses ctx, but ctx has no timeout.
func upload(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
