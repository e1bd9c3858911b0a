package main

import (
	"context"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/process"
)

func init() {
	know(
		stuckCase{name: "time-sleep", start: timeSleep, want: []want{{path: "waiter", wait: "sleep", at: "time-sleep"}}},
		stuckCase{name: "time-after", start: timeAfter, want: []want{{path: "waiter", wait: "receive", at: "time-after"}}},
		stuckCase{name: "sleep", start: sleep, want: []want{{path: "waiter", wait: "sleep", at: "sleep", until: time.Hour}}},
		stuckCase{name: "after", start: after, want: []want{{path: "later", wait: "sleep", at: "after", until: time.Hour}}},
		stuckCase{name: "signal", start: onSignal, want: []want{{path: "on interrupt", wait: "signal"}}},
		stuckCase{name: "every", start: every, want: []want{{path: "ticker", wait: "sleep", until: time.Minute}}},
	)
}

func timeSleep(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		time.Sleep(time.Hour) // stuck: time-sleep
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func timeAfter(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		<-time.After(time.Hour) // stuck: time-after
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func sleep(ctx context.Context) error {
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Sleep(ctx, time.Hour) // stuck: sleep
	}, meanwhile.Name("waiter"))
	return nil
}

func after(ctx context.Context) error {
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Sleep(ctx, time.Hour) // stuck: after
	}, meanwhile.Name("later"))
	return nil
}

func every(ctx context.Context) error {
	meanwhile.Every(ctx, time.Minute, func(context.Context) error { return nil }, meanwhile.Name("ticker"))
	return nil
}

func onSignal(ctx context.Context) error {
	process.OnSignal(ctx, func(context.Context, os.Signal) error { return nil }, os.Interrupt)
	return nil
}
