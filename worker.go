package meanwhile

import (
	"context"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// An item is a value of a source, and the task in which the function runs on it.
type item[In any] struct {
	node  scope.Node
	input In
	err   error // yielded by the source with the value: then the item is a result and runs no task
}

// A worker of a flow runs items until there are no more, or there are more workers than the limit.
type worker[In, Out any] struct {
	*flow[In, Out]
	item  *item[In] // until it has ended
	index uint64    // of the item in the source
	value Out
	err   error
}

// callWorker wakes or starts a worker when there are items that no worker has taken. It calls one worker at a time, which
// calls the next.
func (f *flow[In, Out]) callWorker() {
	if f.called.Load() || f.dequeued.Load() == f.head.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left.Load() || f.called.Swap(true) {
		return
	}
	if f.idle > 0 {
		f.work.Signal()
		return
	}
	f.alive++
	f.goroutines.Add(1)
	go f.startWorker()
}

func (f *flow[In, Out]) startWorker() {
	w := &worker[In, Out]{flow: f}
	scope.LabelGoroutine(w.scope.Labels)
	defer w.leave()
	w.called.Store(false)
	for w.next() {
		if w.err = w.item.err; w.err == nil {
			w.run()
		}
		w.finish()
	}
}

// next returns true when the worker has an item, or false when the worker is not needed any more.
func (w *worker[In, Out]) next() bool {
	for !w.left.Load() {
		if w.dequeue() {
			return true
		}
		if !w.rest() {
			return false
		}
	}
	return false
}

// dequeue takes the oldest item that no worker has taken.
func (w *worker[In, Out]) dequeue() bool {
	for {
		place := w.dequeued.Load()
		if place == w.head.Load() {
			return false
		}
		it := w.ring.at(place).item.Load() // loaded before the item is taken, since afterwards the slot may get another item
		if w.dequeued.CompareAndSwap(place, place+1) {
			w.item, w.index = it, place
			w.callWorker()
			return true
		}
	}
}

// rest waits until the worker is called; it reports false when the worker is not needed any more.
func (w *worker[In, Out]) rest() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dequeued.Load() != w.head.Load() {
		return true
	}
	if w.left.Load() || w.total.Load() > 0 || w.alive > w.o.limiter.Current() {
		return false
	}
	w.idle++
	w.work.Wait()
	w.idle--
	w.called.Store(false)
	return true
}

// run makes the item a task of the stream. The goroutine runs that task until apply returns.
func (w *worker[In, Out]) run() {
	n := &w.item.node
	n.Number = uint32(w.index) + 1
	n.Open(&w.scope, scope.KindItem, w.o.item)
	scope.LabelGoroutine(n.Labels)
	w.apply(n)
	scope.LabelGoroutine(w.scope.Labels)
}

// apply runs the function on an item, as the stream's options say. A snapshot recognizes the goroutine of an item by the
// name of this function.
//
//go:noinline
func (w *worker[In, Out]) apply(n *scope.Node) {
	w.err = scope.ErrUnreturned
	defer func() {
		if w.err == scope.ErrUnreturned {
			w.err = scope.NewPanic(recover())
		}
		w.err = n.Finish(w.err)
	}()
	n.TellStart()
	if p := w.o.retry; p != nil {
		w.err = p.runPaced(n, w.o.pacer, func(ctx context.Context) (err error) {
			w.value, err = w.call(ctx)
			return err
		})
		return
	}
	w.value, w.err = w.call(n)
}

// call runs the function once, and reports the attempt to an adaptive limit.
func (w *worker[In, Out]) call(ctx context.Context) (value Out, err error) {
	if w.o.limiter.adapt == nil {
		return w.fn(ctx, w.item.input)
	}
	begun := w.o.limiter.startItem()
	err = ErrGoexit // or a panic, unless the function returns
	defer func() { w.o.limiter.end(begun, err) }()
	return w.fn(ctx, w.item.input)
}

// finish publishes the result, clears what the item refers to, since its ctx may be kept for longer, and counts the item as
// ended. The source may then continue.
func (w *worker[In, Out]) finish() {
	it, value, err := w.item, w.value, w.err
	if err != nil && it.err == nil {
		err = &ItemError{Index: int(w.index), Input: it.input, Err: err}
	}
	var noInput In
	var noValue Out
	it.input = noInput
	w.item, w.value, w.err = nil, noValue, nil
	if it.err == nil {
		w.o.limiter.give()
	}
	w.publish(w.index, value, err)
	w.ended.Add(1)
	if w.waiting.Load() && !w.starved.Load() {
		w.wakeSource()
	}
}

// leave ends the worker, because it is not needed any more or the function called Goexit.
func (w *worker[In, Out]) leave() {
	if w.item != nil {
		w.finish()
	}
	w.mu.Lock()
	w.alive--
	w.mu.Unlock()
	w.callWorker()
	w.goroutines.Done()
}
