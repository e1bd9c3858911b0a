package main

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "running", start: running, want: []want{{path: "busy", wait: "running", at: "running"}}},
		stuckCase{name: "collector", start: collector, want: []want{
			{path: "one", wait: "running", anyPlace: true},
			{path: "two", wait: "running", anyPlace: true},
			{path: "statistics", wait: "running", anyPlace: true},
		}},
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

// collector has two tasks that run the garbage collector, and one that reads memory statistics. They wait for each other inside the runtime.
func collector(ctx context.Context) error {
	collect := func(context.Context) error {
		for {
			runtime.GC()
		}
	}
	meanwhile.Go(ctx, collect, meanwhile.Name("one"))
	meanwhile.Go(ctx, collect, meanwhile.Name("two"))
	meanwhile.Go(ctx, func(context.Context) error {
		for {
			runtime.ReadMemStats(new(runtime.MemStats))
		}
	}, meanwhile.Name("statistics"))
	return nil
}
