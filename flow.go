package meanwhile

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A flow is one loop over a Map.
//
// One goroutine runs the source and puts each of its values as an item into a ring of slots. Workers are goroutines that are
// started on demand, at most as many as the limit. They take the items, run the function on them and put the results into
// the ring, from which the loop takes them.
//
// Items and results are passed on by atomic operations. The mutex is only for a goroutine that finds nothing to do, and for
// one that wakes it: a goroutine first records that it waits and then checks once more, and a goroutine that has produced
// something checks afterwards whether another waits. All waits are on the conditions, wake or Done, which work with
// synctest.
type flow[In, Out any] struct {
	scope scope.Node
	in    Stream[In]
	fn    func(context.Context, In) (Out, error)
	o     *streamOptions

	ring ring[In, Out]
	wake chan struct{} // wakes the loop, which waits for a slot

	goroutines sync.WaitGroup // of the source and the workers
	head       atomic.Uint64  // number of values that the source has yielded
	total      atomic.Uint64  // the same plus one when the source has ended; 0 before
	left       atomic.Bool    // the loop was left: nothing may start any more
	waiting    atomic.Bool    // the source waits until another item may start
	starved    atomic.Bool    // the source waits for space in the window; the loop wakes it
	called     atomic.Bool    // a worker was woken or started, and does not run yet

	_        [64]byte      // a cache line, between fields that different goroutines write
	dequeued atomic.Uint64 // number of items that workers have taken
	ended    atomic.Uint64 // number of items that have ended
	results  atomic.Uint64 // number of results, which are the places of an unordered stream

	_    [64]byte
	tail atomic.Uint64 // number of results that the loop has taken

	_       [64]byte
	mu      sync.Mutex
	source  sync.Cond // the source waits on it
	work    sync.Cond // workers wait on it
	alive   int       // number of workers
	idle    int       // number of workers that wait
	holds   string    // what a value of the source waits for before it may start: limit or rate; empty for none
	failure error     // the panic or Goexit of the source

	stopped bool // yield has returned false; used only by the source's goroutine

	// Used only by the loop's goroutine, except for lost.
	cut    bool // the stream was canceled before its end
	closed bool
	lost   []error // errors with panics that the loop did not receive; the source's goroutine may add to them before it ends
}

// newFlow opens the scope of the stream.
func newFlow[In, Out any](ctx context.Context, in Stream[In], fn func(context.Context, In) (Out, error), o *streamOptions) *flow[In, Out] {
	o.limiter.mustNotNest(scope.From(ctx))
	f := &flow[In, Out]{in: in, fn: fn, o: o, wake: make(chan struct{}, 1)}
	f.ring.resize(o.window)
	f.source.L, f.work.L = &f.mu, &f.mu
	f.scope.Open(ctx, scope.KindStream, &scope.Settings{Name: o.Name, Observe: o.Observe, Attrs: o.Attrs})
	if f.scope.Parent == nil {
		f.scope.Register()
	}
	f.scope.ShowStream(f)
	return f
}

// each yields the results.
func (f *flow[In, Out]) each(yield func(Out, error) bool) {
	f.scope.TellStart()
	leave := f.o.limiter.join(f.wakeSource)
	defer leave()
	f.goroutines.Add(1)
	go f.pump()
	quarter := max(1, f.ring.size/4)
	done := f.scope.Done()
	for t := uint64(0); ; t++ {
		s := f.ring.at(t)
		if !f.await(s, t, done) {
			f.last(yield)
			return
		}
		value, err := s.value, s.err
		var none Out
		s.value, s.err = none, nil
		f.tail.Store(t + 1)
		if (t+1)%quarter == 0 && f.starved.Load() {
			f.wakeSource()
		}
		if !yield(value, err) {
			return
		}
	}
}

// firstError runs the stream up to its first error.
func (f *flow[In, Out]) firstError() (first error) {
	defer f.close()
	f.each(func(_ Out, err error) bool {
		first = err
		return err == nil
	})
	return first
}

// await returns true when result t is ready, or false when there will be none.
func (f *flow[In, Out]) await(s *slot[In, Out], t uint64, done <-chan struct{}) bool {
	for {
		if f.scope.CanceledBy() != nil {
			f.cut = true
			return false
		}
		state := s.state.Load()
		if state == ready(t) {
			// The error may only be an effect of a cancellation that has arrived since.
			f.cut = s.err != nil && f.scope.CatchUp() != nil
			return !f.cut
		}
		if f.total.Load() == t+1 {
			f.cut = f.scope.CatchUp() != nil // the source may have ended because of a cancellation that has not arrived here yet
			return false
		}
		if f.starved.Load() {
			f.wakeSource()
		}
		if s.state.CompareAndSwap(state, waited(t)) && f.total.Load() != t+1 {
			select {
			case <-f.wake:
			case <-done:
			}
		}
	}
}

// last yields how the source failed, or how the stream was canceled, after the results.
func (f *flow[In, Out]) last(yield func(Out, error) bool) {
	f.end()
	err := f.failure
	if f.cut {
		err = scope.JoinFailures(f.scope.CanceledBy().Failure(), err)
	}
	if err != nil {
		var none Out
		yield(none, err)
	}
}

// close is deferred around each. A panic or a Goexit of a source that the loop did not receive, because it was left before,
// continues in the goroutine of the loop.
func (f *flow[In, Out]) close() {
	if f.closed {
		return
	}
	f.end()
	raise(f.failure)
}

// end cancels the running items, waits for them, and closes the scope.
func (f *flow[In, Out]) end() {
	f.closed = true
	f.mu.Lock()
	f.left.Store(true)
	f.source.Signal()
	f.work.Broadcast()
	f.mu.Unlock()
	if f.total.Load() == 0 || f.running() > 0 {
		f.scope.CancelBecause(scope.ErrLoopEnded)
	}
	f.goroutines.Wait()
	f.loseResults()
	f.drop()
	f.scope.Join()
	if f.scope.Parent == nil {
		defer f.scope.Unregister()
	}
	if err := f.scope.Leave(nil); err != nil {
		panic(err)
	}
}

// drop drops the items that no worker has taken, and releases their places.
func (f *flow[In, Out]) drop() {
	for place := f.dequeued.Load(); place < f.head.Load(); place++ {
		if err := f.ring.at(place).item.Load().err; err != nil {
			f.notePanic(err)
		} else {
			f.o.limiter.give()
		}
	}
}

// rouse wakes the loop, which then checks again what it waits for. If wake already holds a token, that one is enough.
func (f *flow[In, Out]) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// publish puts the result of an item into the ring.
func (f *flow[In, Out]) publish(index uint64, value Out, err error) {
	place := index
	if f.o.unordered {
		place = f.results.Add(1) - 1
	}
	s := f.ring.at(place)
	s.value, s.err = value, err
	if s.state.Swap(ready(place)) == waited(place) {
		f.rouse()
	}
}

// Waits returns what the stream waits for before its source may continue.
func (f *flow[In, Out]) Waits() (reason, on string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit := f.o.limiter.Current()
	switch {
	case f.total.Load() > 0:
		return "tasks", ""
	case f.holds == "rate":
		return "rate", ""
	case f.holds == "limit":
		return "limit", strconv.Itoa(limit)
	case !f.waiting.Load():
		return "source", ""
	case !f.windowOpen() || f.starved.Load(): // the source continues once a quarter of the window is free
		return "full", strconv.FormatUint(f.ring.size, 10) + " results"
	case f.running() >= uint64(limit):
		return "limit", strconv.Itoa(limit)
	}
	return "running", "" // the source is about to continue
}

func (f *flow[In, Out]) limiter() *Limiter { return f.o.limiter }

// Awaited returns the label in the tree of the item that the loop waits for.
func (f *flow[In, Out]) Awaited() string {
	if f.o.unordered {
		return ""
	}
	return string(scope.AppendItemLabel(nil, f.tail.Load()))
}
