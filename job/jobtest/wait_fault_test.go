package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Wait and Close.
var waitFaults = []fault{
	{name: "wait is woken by nothing", noticed: []string{"wait is woken by an insert before it"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, _ []string) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}},
	{name: "wait knows one queue", noticed: []string{"wait is woken for any of its queues"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) ([]string, error) { return b.Store.Wait(ctx, queues[0]) }
	}},
	{name: "wait names a part of the queues", noticed: []string{"wait names the queues"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) ([]string, error) {
			due, err := b.Store.Wait(ctx, queues...)
			return slices.DeleteFunc(slices.Clone(due), func(q string) bool { return q == "c" }), err
		}
	}},
	{name: "wait looks now and then", noticed: []string{"close releases those that wait"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) ([]string, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(30 * time.Second):
				return queues, nil
			}
		}
	}},
	{name: "wait does not wait", noticed: []string{
		"wait is woken by an insert",
		"wait is woken by a move to the queue",
		"wait on an idle queue waits",
	}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) ([]string, error) {
			time.Sleep(time.Millisecond)
			return queues, ctx.Err()
		}
	}},
	{name: "wait does not see the end of ctx", noticed: []string{
		"wait is woken by a settle as queued",
		"wait returns when ctx is canceled",
	}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) ([]string, error) {
			return b.Store.Wait(context.WithoutCancel(ctx), queues...)
		}
	}},
	{name: "one of those that wait is woken", noticed: []string{"all that wait are woken"}, apply: func(b *broken) {
		turn := make(chan struct{}, 1)
		b.wait = func(ctx context.Context, queues []string) ([]string, error) {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
				return b.Store.Wait(ctx, queues...)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}},
	{name: "close does not end waits", noticed: []string{
		"close releases those that wait",
		"all calls return ErrClosed after close",
	}, apply: func(b *broken) {
		b.close = func() error { return nil }
	}},
	{name: "ping fails", noticed: []string{"ping answers"}, apply: func(b *broken) { b.ping = func() error { return job.ErrSchema } }},
	{name: "a canceled ctx is ignored", noticed: []string{"all calls return the error of a canceled ctx and do nothing"}, apply: func(b *broken) {
		b.prune = func(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
			return b.Store.Prune(context.WithoutCancel(ctx), retention, limit)
		}
	}},
}
