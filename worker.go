package meanwhile

import (
	"context"
	"sync/atomic"
)

// A worker of a flow runs items until there are no more, or there are more workers than the limit.
type worker[In, Out any] struct {
	*flow[In, Out]
	number  uint32 // of the goroutine
	item    *node  // of the value that runs, or of the next one
	index   uint64 // of that value
	input   In
	err     error // what the source gave with the value, then how the item ended
	drawing bool  // in the source
	busy    bool  // a value was pulled, and its result is not in the ring yet
}

// work is the goroutine of a worker, whose items all have its number.
func (f *flow[In, Out]) work() {
	w := &worker[In, Out]{flow: f, number: nextID()}
	climb(w.start, w.number, markDigits)
}

func (w *worker[In, Out]) start() {
	w.scope.labelGoroutine()
	w.newItem()
	defer w.leave()
	for came := true; w.turn(came) && w.pull(); came = false {
		w.run()
	}
}

// newItem makes the node of the next value. One that a function left as it was, without starting a task, say, or asking
// for Done, serves for the value after it as well: nobody can tell.
func (w *worker[In, Out]) newItem() {
	w.item = &node{base: &w.scope, mark: newMark(w.number, kindItem), shared: w.scope.shared}
	if w.plain {
		w.item.link(&w.scope, nil)
	}
}

// leave ends the worker: it is not needed any more, or the function or the source called Goexit.
func (w *worker[In, Out]) leave() {
	if w.drawing {
		w.pulled(false, errGoexit)
	}
	if w.busy {
		var none Out
		w.publish(none, &ItemError{Index: int(w.index), Input: w.input, Err: errGoexit})
	}
	if w.plain && !w.item.is(isFinished) {
		w.item.flags.Or(isClosed | isFinished)
		w.item.unlink()
	}
	w.mu.Lock()
	w.alive--
	if !w.pulling {
		w.callLocked()
	}
	w.mu.Unlock()
	w.workers.Done()
}

// turn waits until the worker is the one to pull, and reports false when it is not needed any more.
func (w *worker[In, Out]) turn(came bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if came {
		w.called = false
	}
	for !w.over && w.alive <= w.o.limiter.Current() {
		if !w.pulling {
			if w.room() {
				w.pulling = true
				return true
			}
			w.starved.Store(true)
			if w.room() {
				continue
			}
		}
		w.idle++
		w.cond.Wait()
		w.idle--
		w.called = false
	}
	return false
}

// pull takes the next value from the source, and reports false when there is none.
func (w *worker[In, Out]) pull() bool {
	w.drawing = true
	more, failure := w.draw()
	w.drawing = false
	return w.pulled(more, failure)
}

func (w *worker[In, Out]) draw() (more bool, failure error) {
	defer func() {
		if r := recover(); r != nil {
			more, failure = false, recovered(r)
		}
	}()
	w.input, w.err, more = w.next()
	return more, nil
}

// pulled ends the worker's turn and calls the next one. A value that comes when the loop has been left is dropped.
func (w *worker[In, Out]) pulled(more bool, failure error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pulling = false
	if !more {
		w.over, w.failure = true, failure
		w.total.Store(w.head + 1)
		w.cond.Broadcast()
		w.rouse()
		return false
	}
	if w.over {
		return false
	}
	w.index = w.head
	w.head++
	w.busy = true
	w.callLocked()
	return true
}

// run makes the result of the value that was pulled.
func (w *worker[In, Out]) run() {
	var value Out
	err := w.err
	if err == nil {
		value, err = w.process()
		if err != nil {
			err = &ItemError{Index: int(w.index), Input: w.input, Err: err}
		}
	}
	w.publish(value, err)
	var none In
	w.input = none
}

func (w *worker[In, Out]) publish(value Out, err error) {
	w.busy = false
	place := w.index
	if w.o.unordered {
		place = w.finished.Add(1) - 1
	}
	s := w.ring.at(place)
	s.value, s.err = value, err
	if s.state.Swap(slotReady) == slotWaited {
		w.rouse()
	}
}

// process runs the function on the value as the stream's options say.
func (w *worker[In, Out]) process() (value Out, err error) {
	if w.o.pacer != nil {
		w.pacing.Add(1)
		err := w.o.pacer.Wait(&w.scope)
		w.pacing.Add(-1)
		if err != nil {
			return value, err
		}
	}
	if !w.plain {
		w.newItem()
		w.item.number.Store(uint32(w.index) + 1)
		w.item.open(&w.scope, kindItem, &taskOptions{timeout: w.o.timeout}, nil)
	} else if w.item.is(isFinished) {
		w.newItem()
	}
	if watched.Load() {
		atomic.StoreUint32(&w.item.begun, tick())
	}
	w.item.number.Store(uint32(w.index) + 1)
	return w.apply(w.item)
}

func (w *worker[In, Out]) apply(item *node) (value Out, err error) {
	err = errUnreturned
	defer item.endItem(&err)
	item.tellStart()
	if p := w.o.retry; p != nil {
		err = p.run(item, func(ctx context.Context) (err error) {
			value, err = w.call(ctx)
			return err
		})
	} else {
		value, err = w.call(item)
	}
	return value, err
}

// call runs the function once; an adaptive limit learns from each attempt.
func (w *worker[In, Out]) call(ctx context.Context) (value Out, err error) {
	if w.o.limiter.adapt == nil {
		return w.fn(ctx, w.input)
	}
	begun := w.o.limiter.begin()
	err = errGoexit // or a panic, unless the function returns
	defer func() { w.o.limiter.end(begun, err) }()
	return w.fn(ctx, w.input)
}

// endItem is deferred around the function of an item. An item to which nothing is attached is left as it is.
func (n *node) endItem(err *error) {
	if *err == errUnreturned {
		*err = recovered(recover())
	}
	if !n.is(isUsed) {
		n.number.Store(0)
		return
	}
	n.mu.Lock()
	idle := n.canceled.Load() == nil && n.rare == nil && n.done == nil && n.after == nil && n.family == nil
	n.mu.Unlock()
	if idle {
		n.number.Store(0)
		return
	}
	*err = n.finish(*err)
}
