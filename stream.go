package meanwhile

import (
	"context"
	"iter"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Stream is a sequence of values, each with an error or nil, that is pulled by a range loop:
//
//	for value, err := range stream { … }
//
// Every iter.Seq2[T, error] is one. An error in the place of a value belongs to one item, and the loop may continue; see
// [ItemError]. A stream does nothing until it is ranged over.
type Stream[T any] = iter.Seq2[T, error]

// Map calls fn for the values of in, several of them concurrently, and yields the results in the order of the values. It
// applies backpressure: it pulls from in only values that it can start, and stops when a window of results is ready that the
// loop has not received ([Window]). [Limit] sets how many calls run concurrently; the default is 64.
//
// An item that fails, panics or times out ([Timeout]) is yielded as an [*ItemError] in its place, and the others continue.
// An error that in yields is passed through. When ctx is canceled, the last thing yielded is its error with its cause; how
// the items that this cut short ended is not reported. Leaving the loop cancels the running items, pulls nothing more, and
// waits until they and in have returned: the sources of this package return immediately, also through [Filter], [Take] and
// [FlatMap]; an iterator of your own that waits for something returns only when it next calls yield, or ends. A panic or a
// Goexit of in is the last thing yielded, as an error; if the loop was left before, it continues in the goroutine of the
// loop. A panic of an item that the loop does not receive, because the loop was left or ctx was canceled, is a failure of
// the scope that ctx belongs to; without a scope it is logged.
//
// Each loop over the stream is a scope of its own, as a child of ctx's task if there is one: fn receives the ctx of its
// item, which is a task, and may start tasks with it; the item ends when they have ended. The stream can be ranged over
// again if in can. in runs in a goroutine of its own, and advances no further than the next value that can start.
//
//go:noinline
func Map[In, Out any](ctx context.Context, in Stream[In], fn func(ctx context.Context, in In) (Out, error), opts ...StreamOption) Stream[Out] {
	o := new(streamOptions)
	o.read(opts)
	return func(yield func(Out, error) bool) {
		f := newFlow(ctx, in, fn, o)
		defer f.reportLost()
		defer endWith(yield, &f.scope)()
		defer f.close()
		f.each(yield)
	}
}

// Each calls fn for the values of in, several of them concurrently and in no particular order, and returns when all calls
// have ended. The first failure, of an item as an [*ItemError] or of in, cancels the others and is returned once they have
// returned; later panics of items are joined after it. It accepts the options of [Map].
func Each[In any](ctx context.Context, in Stream[In], fn func(ctx context.Context, in In) error, opts ...StreamOption) error {
	o := new(streamOptions)
	o.read(append([]StreamOption{Name("each"), Unordered()}, opts...))
	f := newFlow(ctx, in, func(ctx context.Context, in In) (struct{}, error) {
		return struct{}{}, fn(ctx, in)
	}, o)
	var failed scope.Failures
	if err := f.firstError(); err != nil {
		failed.Add(err)
	}
	for _, err := range f.lost {
		failed.Add(err)
	}
	return failed.Join()
}

// Collect returns the values of in up to the first error, and that error. The number of values is not bounded: the slice holds
// all of them.
func Collect[T any](in Stream[T]) ([]T, error) {
	var values []T
	for value, err := range in {
		if err != nil {
			return values, err
		}
		values = append(values, value)
	}
	return values, nil
}

// maxWindow is the largest window.
const maxWindow = 1 << 24

type streamOptions struct {
	taskOptions
	limiter   *Limiter
	pacer     *Pacer
	window    int
	unordered bool
	item      *scope.Settings // of each item; nil for none
}

func (o *streamOptions) read(opts []StreamOption) {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case nameOption:
			o.Name = string(opt)
		case timeoutOption:
			o.Timeout = time.Duration(opt)
			o.item = &scope.Settings{Timeout: o.Timeout}
		case observeOption:
			o.Observe = newObserver(opt.f)
		case attrsOption:
			o.Attrs = scope.JoinAttrs(o.Attrs, opt)
		case retryOption:
			o.retry = opt.p
		case unorderedOption:
			o.unordered = true
		case windowOption:
			o.window = int(opt)
		case *Limiter:
			o.limiter = opt
		case *Pacer:
			o.pacer = opt
		}
	}
	if o.limiter == nil {
		o.limiter = Limit(defaultLimit)
	}
	if o.window == 0 {
		o.window = 16 * min(o.limiter.most(), maxWindow/16)
	}
	o.window = min(o.window, maxWindow)
}
