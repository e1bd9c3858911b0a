package main

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "stream-full", start: streamFull, want: []want{
			{path: "loop", wait: "receive", at: "stream-full"},
			{path: "loop/numbers", wait: "full", anyPlace: true},
		}},
		stuckCase{name: "stream-slow", start: streamSlow, want: []want{
			{path: "loop", wait: "stream", at: "stream-slow", has: []string{"[0]"}},
			{path: "loop/numbers", wait: "limit", anyPlace: true},
			{path: "loop/numbers/[0]", wait: "receive", at: "item-slow"},
			{path: "loop/numbers/[1]", wait: "receive", at: "item-slow"},
		}},
		stuckCase{name: "stream-item", start: streamItem, want: []want{
			{path: "loop", wait: "stream", at: "stream-item", has: []string{"[0]"}},
			{path: "loop/numbers/[0]", wait: "receive", at: "item"},
		}},
		stuckCase{name: "stream-source", start: streamSource, want: []want{
			{path: "loop", wait: "stream", at: "stream-source"},
			{path: "loop/values", wait: "source", at: "source"},
		}},
		stuckCase{name: "stream-receive", start: streamReceive, want: []want{
			{path: "loop", wait: "stream", at: "stream-receive"},
			{path: "loop/values", wait: "source", anyPlace: true},
		}},
		stuckCase{name: "stream-rate", start: streamRate, want: []want{
			{path: "loop", wait: "stream", at: "stream-rate"},
			{path: "loop/numbers", wait: "rate", until: time.Hour, anyPlace: true},
		}},
		stuckCase{name: "stream-each", start: streamEach, want: []want{
			{path: "loop", wait: "stream", at: "stream-each"},
			{path: "loop/each", wait: "limit", anyPlace: true},
			{path: "loop/each/[0]", wait: "retry", until: time.Hour},
			{path: "loop/each/[1]", wait: "task", on: "stuck/loop/each/[1]/attempt 1"},
			{path: "loop/each/[1]/attempt 1", wait: "receive", at: "attempt"},
		}},
		stuckCase{name: "stream-of-stream", start: streamOfStream, want: []want{
			{path: "loop", wait: "stream", at: "stream-of-stream"},
			{path: "loop/inner", wait: "source", at: "inner-source"},
			{path: "loop/outer", wait: "source", anyPlace: true},
		}},
		stuckCase{name: "receive-loop", start: receiveLoop, want: []want{{path: "loop", wait: "receive", at: "receive-loop"}}},
		stuckCase{name: "batch", start: batch, want: []want{
			{path: "loop", wait: "stream", at: "batch"},
			{path: "loop/batch", wait: "source", anyPlace: true},
			{path: "loop/batch/pull", wait: "receive"},
		}},
		stuckCase{name: "batch-full", start: batchFull, want: []want{
			{path: "loop", wait: "receive", at: "batch-full"},
			{path: "loop/batch", wait: "full", anyPlace: true},
			{path: "loop/batch/pull", wait: "full", anyPlace: true},
		}},
	)
}

// numbers is a source without an end.
func numbers(yield func(int, error) bool) {
	for i := 0; yield(i, nil); i++ {
	}
}

// streamFull has a loop that hangs at its first result, and a stream that continues as far as its window allows.
func streamFull(ctx context.Context) error {
	ch := make(chan int)
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Map(ctx, numbers, same, meanwhile.Window(4), meanwhile.Name("numbers")) {
			<-ch // stuck: stream-full
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

// streamSlow has as many slow items as may run.
func streamSlow(ctx context.Context) error {
	ch := make(chan int)
	slow := func(context.Context, int) (int, error) {
		return <-ch, nil // stuck: item-slow
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Map(ctx, numbers, slow, meanwhile.Limit(2), meanwhile.Name("numbers")) { // stuck: stream-slow
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

// streamItem has a first item that is slow, and others whose results wait behind it until the window is full.
func streamItem(ctx context.Context) error {
	ch := make(chan int)
	slow := func(_ context.Context, i int) (int, error) {
		if i == 0 {
			<-ch // stuck: item
		}
		return i, nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Map(ctx, numbers, slow, meanwhile.Window(8), meanwhile.Name("numbers")) { // stuck: stream-item
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

func streamSource(ctx context.Context) error {
	ch := make(chan int)
	values := func(yield func(int, error) bool) {
		for yield(<-ch, nil) { // stuck: source
		}
	}
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Map(ctx, values, same, meanwhile.Name("values")) { // stuck: stream-source
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

func streamReceive(ctx context.Context) error {
	ch := make(chan int)
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	meanwhile.Go(ctx, func(ctx context.Context) error {
		values := meanwhile.Receive(ctx, ch)
		for range meanwhile.Map(ctx, values, same, meanwhile.Name("values")) { // stuck: stream-receive
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

func streamRate(ctx context.Context) error {
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	hourly := meanwhile.Rate(1, time.Hour)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Map(ctx, numbers, same, hourly, meanwhile.Limit(1), meanwhile.Name("numbers")) { // stuck: stream-rate
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

// streamEach has two items with a retry policy: one is in its first attempt, and the other waits for its second.
func streamEach(ctx context.Context) error {
	ch := make(chan int)
	try := func(_ context.Context, i int) error {
		if i == 0 {
			return errNotToday
		}
		<-ch // stuck: attempt
		return nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return meanwhile.Each(ctx, numbers, try, meanwhile.Limit(2), hourly) // stuck: stream-each
	}, meanwhile.Name("loop"))
	return nil
}

// streamOfStream has a stream whose source is another, which waits for its own.
func streamOfStream(ctx context.Context) error {
	ch := make(chan int)
	values := func(yield func(int, error) bool) {
		for yield(<-ch, nil) { // stuck: inner-source
		}
	}
	same := func(_ context.Context, i int) (int, error) { return i, nil }
	meanwhile.Go(ctx, func(ctx context.Context) error {
		inner := meanwhile.Map(ctx, values, same, meanwhile.Name("inner"))
		for range meanwhile.Map(ctx, inner, same, meanwhile.Name("outer")) { // stuck: stream-of-stream
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

func receiveLoop(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Receive(ctx, ch) { // stuck: receive-loop
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

func batch(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Batch(ctx, meanwhile.Receive(ctx, ch), 10, 0) { // stuck: batch
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}

func batchFull(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		for range meanwhile.Batch(ctx, numbers, 2, 0) {
			<-ch // stuck: batch-full
		}
		return nil
	}, meanwhile.Name("loop"))
	return nil
}
