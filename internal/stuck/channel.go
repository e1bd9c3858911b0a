package main

import (
	"context"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "receive", start: receive, want: []want{{path: "waiter", wait: "receive", at: "receive"}}},
		stuckCase{name: "range", start: rangeOver, want: []want{{path: "waiter", wait: "receive", at: "range"}}},
		stuckCase{name: "done", start: done, want: []want{{path: "waiter", wait: "receive", at: "done"}}},
		stuckCase{name: "send", start: send, want: []want{{path: "waiter", wait: "send", at: "send"}}},
		stuckCase{name: "send-full", start: sendFull, want: []want{{path: "waiter", wait: "send", at: "send-full"}}},
		stuckCase{name: "select", start: selectTwo, want: []want{{path: "waiter", wait: "select", at: "select"}}},
		stuckCase{name: "nil-channel", start: nilChannel, want: []want{
			{path: "receiver", wait: "receive", at: "nil-receive"}, // it cannot be known that this is for ever
			{path: "sender", wait: "send", at: "nil-send"},
		}},
		stuckCase{name: "empty-select", start: emptySelect, want: []want{{path: "waiter", wait: "nothing", at: "empty-select"}}},
	)
}

func receive(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		<-ch // stuck: receive
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func rangeOver(ctx context.Context) error {
	ch := make(chan string)
	meanwhile.Go(ctx, func(context.Context) error {
		for range ch { // stuck: range
		}
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func done(ctx context.Context) error {
	meanwhile.Go(ctx, func(ctx context.Context) error {
		<-ctx.Done() // stuck: done
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func send(ctx context.Context) error {
	ch := make(chan int)
	meanwhile.Go(ctx, func(context.Context) error {
		ch <- 1 // stuck: send
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func sendFull(ctx context.Context) error {
	ch := make(chan int, 2)
	meanwhile.Go(ctx, func(context.Context) error {
		for i := 0; ; i++ {
			ch <- i // stuck: send-full
		}
	}, meanwhile.Name("waiter"))
	return nil
}

func selectTwo(ctx context.Context) error {
	in, out := make(chan int), make(chan int)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		select { // stuck: select
		case <-in:
		case out <- 1:
		case <-ctx.Done():
		}
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func nilChannel(ctx context.Context) error {
	var ch chan int // somebody forgot to make it
	meanwhile.Go(ctx, func(context.Context) error {
		<-ch // stuck: nil-receive
		return nil
	}, meanwhile.Name("receiver"))
	meanwhile.Go(ctx, func(context.Context) error {
		ch <- 1 // stuck: nil-send
		return nil
	}, meanwhile.Name("sender"))
	return nil
}

func emptySelect(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		select {} // stuck: empty-select
	}, meanwhile.Name("waiter"))
	return nil
}
