package meanwhile

import (
	"runtime"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// pump runs the source in a goroutine of its own. A snapshot recognizes this function by its name.
func (f *flow[In, Out]) pump() {
	defer f.goroutines.Done()
	err := scope.ErrUnreturned
	defer func() {
		if err == scope.ErrUnreturned {
			err = scope.Recovered(recover())
		}
		f.drained(err)
	}()
	scope.LabelGoroutine(f.scope.Labels)
	yield := f.yield
	defer register(yield, &f.scope)()
	f.in(yield)
	err = nil
}

// yield is the body of the loop over the source. It makes the value an item, and returns when another item may start.
func (f *flow[In, Out]) yield(value In, err error) bool {
	if f.stopped {
		panic("meanwhile: a source called yield again after it had returned false: return from the source then")
	}
	more := (err != nil || f.waitToStart()) && f.enqueue(value, err) && f.admit()
	f.stopped = !more
	return more
}

// waitToStart waits until an item may start: for a place of the limiter, which other streams may share, and for its turn at
// the pacer. It reports false when the stream is canceled.
func (f *flow[In, Out]) waitToStart() bool {
	if !f.o.limiter.places.TryAcquire(1) {
		f.hold("limit")
		defer f.hold("")
		if f.o.limiter.places.Acquire(&f.scope, 1) != nil {
			return false
		}
	}
	if f.o.pacer == nil {
		return true
	}
	f.hold("rate")
	defer f.hold("")
	if f.o.pacer.wait(&f.scope, false) != nil {
		f.o.limiter.give()
		return false
	}
	return true
}

func (f *flow[In, Out]) hold(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds = reason
}

// enqueue makes a value an item for a worker. After the loop was left, it drops the value.
func (f *flow[In, Out]) enqueue(value In, err error) bool {
	if f.left.Load() {
		if err == nil {
			f.o.limiter.give()
		}
		f.notePanic(err)
		return false
	}
	place := f.head.Load()
	f.ring.at(place).item.Store(&item[In]{input: value, err: err})
	f.head.Store(place + 1)
	f.callWorker()
	return true
}

// admit returns true when another item may start, or false when the loop was left.
func (f *flow[In, Out]) admit() bool {
	if f.mayStart() {
		return !f.left.Load()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.waiting.Store(true); !f.left.Load() && !f.mayStart(); f.waiting.Store(true) {
		f.source.Wait()
	}
	f.waiting.Store(false)
	return !f.left.Load()
}

// mayStart reports whether another item may start.
func (f *flow[In, Out]) mayStart() bool {
	if f.starved.Load() {
		f.starved.Store(false)
	}
	if f.running() >= uint64(f.o.limiter.Current()) {
		return false
	}
	if f.windowOpen() {
		return true
	}
	f.starved.Store(true)
	return f.windowOpen()
}

// running returns how many items have been enqueued and have not ended.
func (f *flow[In, Out]) running() uint64 { return f.head.Load() - f.ended.Load() }

// windowOpen reports whether the window has space for another item.
func (f *flow[In, Out]) windowOpen() bool { return f.head.Load()-f.tail.Load() < f.ring.size }

// wakeSource wakes the source if it waits and another item may start.
func (f *flow[In, Out]) wakeSource() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting.Load() && f.mayStart() {
		f.waiting.Store(false)
		f.source.Signal()
	}
}

// drained records that the source has ended, and how.
func (f *flow[In, Out]) drained(failure error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = failure
	f.total.Store(f.head.Load() + 1)
	f.work.Broadcast()
	f.rouse()
}

// raise repeats the panic or the Goexit of a source in the loop's goroutine; it does nothing for nil.
func raise(failure error) {
	switch failure {
	case nil:
	case ErrGoexit:
		runtime.Goexit()
	default:
		panic(failure)
	}
}
