package meanwhile

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"sync/atomic"
)

// A flow is one loop over a Map.
//
// Workers, goroutines that come with the work and are at most limit, take turns at pulling the next value from the
// source, run the function on it and put the result into a ring of slots, from which the loop takes it. One worker at a
// time pulls, without the mutex, because a source may block; after its pull it wakes or starts the next puller if none is
// on its way. Nobody waits on the mutex for longer than a few instructions; all other waits are on cond, wake or Done,
// which synctest understands.
type flow[In, Out any] struct {
	scope node
	root  root // of scope, when no task is above
	fn    func(context.Context, In) (Out, error)
	o     *streamOptions
	plain bool // an item needs nothing that a used node could not give it
	next  func() (In, error, bool)
	stop  func()

	ring ring[Out]
	tail atomic.Uint64 // the loop's place: what is before it has been taken
	wake chan struct{} // to the loop, which waits for a slot
	cut  bool          // the stream was canceled before its end

	finished atomic.Uint64 // results so far, places of an unordered stream
	total    atomic.Uint64 // values of the source plus one; 0 while it has more
	starved  atomic.Bool   // the window was full: the loop calls the next puller

	pacing atomic.Int32 // workers that wait for their turn at the pacer

	workers sync.WaitGroup
	mu      sync.Mutex
	cond    sync.Cond
	head    uint64 // values pulled
	alive   int    // workers
	idle    int    // of them, those that wait on cond
	pulling bool   // a worker pulls
	called  bool   // a worker was woken or started to pull, and has not come yet
	over    bool   // nothing is to be pulled any more
	failure error  // of a source that panicked
}

func newFlow[In, Out any](ctx context.Context, in Stream[In], fn func(context.Context, In) (Out, error), o *streamOptions) *flow[In, Out] {
	f := &flow[In, Out]{
		fn: fn, o: o, ring: newRing[Out](o.window), wake: make(chan struct{}, 1),
		plain: o.timeout == 0 && o.retry == nil,
	}
	f.cond.L = &f.mu
	f.scope.open(ctx, kindStream, &taskOptions{name: o.name, observe: o.observe, attrs: o.attrs}, nil)
	f.plain = f.plain && f.scope.shared.observe == nil
	if f.scope.parent() == nil {
		f.root.plant(&f.scope)
	}
	f.scope.tells(f)
	f.next, f.stop = iter.Pull2(func(yield func(In, error) bool) {
		pull := func(v In, err error) bool { return yield(v, err) }
		defer lead(pull, &f.scope)()
		climb(func() { in(pull) }, f.scope.mark.id(), markDigits)
	})
	return f
}

// each yields the results.
func (f *flow[In, Out]) each(yield func(Out, error) bool) {
	f.scope.tellStart()
	leave := f.o.limiter.join(f.call)
	defer leave()
	f.call()
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
		s.state.Store(slotEmpty)
		f.tail.Store(t + 1)
		if (t+1)%quarter == 0 && f.starved.Load() {
			f.call()
		}
		if !yield(value, err) {
			return
		}
	}
}

// await returns when result t is there, or false when there will be none.
func (f *flow[In, Out]) await(s *slot[Out], t uint64, done <-chan struct{}) bool {
	for {
		if f.scope.canceled.Load() != nil {
			f.cut = true
			return false
		}
		if s.state.Load() == slotReady {
			// What failed may be no more than an effect of a cancellation that came meanwhile.
			f.cut = s.err != nil && f.scope.Err() != nil
			return !f.cut
		}
		if f.total.Load() == t+1 {
			f.scope.pull(false) // the source may have ended by a cancellation that is still on its way here
			f.cut = f.scope.canceled.Load() != nil
			return false
		}
		if f.starved.Load() {
			f.call()
		}
		if s.state.CompareAndSwap(slotEmpty, slotWaited) && f.total.Load() != t+1 {
			select {
			case <-f.wake:
			case <-done:
			}
		}
		s.state.CompareAndSwap(slotWaited, slotEmpty)
	}
}

// last yields what comes after the results: how the source or the stream failed.
func (f *flow[In, Out]) last(yield func(Out, error) bool) {
	f.close()
	err := f.failure
	if f.cut {
		err = f.scope.canceled.Load().error()
	}
	if err != nil {
		var none Out
		yield(none, err)
	}
}

// close cancels what runs and waits for it. It may be called again.
func (f *flow[In, Out]) close() {
	f.mu.Lock()
	f.over = true
	busy := f.alive > f.idle
	f.cond.Broadcast()
	f.mu.Unlock()
	if f.stop == nil {
		return
	}
	if busy {
		f.scope.cancel(&cancellation{err: context.Canceled, cause: errLoopEnded, from: &f.scope})
	}
	f.workers.Wait()
	f.scope.join()
	defer f.endScope() // the source may panic, or call Goexit, when it is stopped
	f.stop()
}

func (f *flow[In, Out]) endScope() {
	f.stop = nil
	if f.root.n != nil {
		defer f.root.fell()
	}
	if err := f.scope.leave(nil); err != nil {
		panic(err)
	}
}

// rouse wakes the loop, which looks again at what it waits for. A token that is there already will do.
func (f *flow[In, Out]) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// call sees to it that a worker comes to pull, if there is something to pull and room for it.
func (f *flow[In, Out]) call() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pulling {
		f.callLocked()
	}
}

func (f *flow[In, Out]) callLocked() {
	if f.called || f.over {
		return
	}
	if !f.room() {
		f.starved.Store(true)
		if !f.room() {
			return
		}
	}
	f.starved.Store(false)
	switch {
	case f.idle > 0:
		f.called = true
		f.cond.Signal()
	case f.alive < f.o.limiter.Current():
		f.called = true
		f.alive++
		f.workers.Add(1)
		go f.work()
	}
}

// waits says what the stream waits for, from when it pulls again.
func (f *flow[In, Out]) waits() (reason, on string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit := f.o.limiter.Current()
	switch {
	case f.pulling:
		return "source", ""
	case f.over:
		return "tasks", ""
	case !f.room() || f.starved.Load(): // it is pulled again once a quarter of the window is free
		return "full", strconv.FormatUint(f.ring.size, 10) + " results"
	case f.pacing.Load() > 0:
		return "rate", ""
	case f.alive-f.idle >= limit:
		return "limit", strconv.Itoa(limit)
	}
	return "running", "" // a worker is on its way
}

// awaited is the item that the loop waits for, as the tree names it.
func (f *flow[In, Out]) awaited() string {
	if f.o.unordered {
		return ""
	}
	return string(appendItemLabel(nil, f.tail.Load()))
}

func (f *flow[In, Out]) room() bool { return f.head-f.tail.Load() < f.ring.size }
