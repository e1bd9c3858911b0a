package main

import (
	"context"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "running", start: running, want: []want{{path: "busy", wait: "running", at: "running"}}},
	)
}

func running(ctx context.Context) error {
	stop := new(atomic.Bool)
	meanwhile.Go(ctx, func(context.Context) error {
		for !stop.Load() { // stuck: running
		}
		return nil
	}, meanwhile.Name("busy"))
	return nil
}
