package meanwhile

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// defaultLimit is the limit of a stream that is given none.
const defaultLimit = 64

// A Limiter says how many items of a stream run at once. [Limit] and [AdaptiveLimit] return one. It is a StreamOption
// and can be changed and read while streams use it; given to several streams, it bounds each of them. Its methods may be
// called by many goroutines at once.
type Limiter struct {
	limit atomic.Int64

	mu      sync.Mutex
	streams map[*func()]struct{} // to call when the limit grows
	adapt   *adapter             // nil for a limit that is set by hand
}

func (*Limiter) streamOption() {}

// Limit lets a stream run up to n items at once. The default of a stream is 64. It panics unless n is positive.
func Limit(n int) *Limiter {
	mustBePositive("Limit", n)
	l := new(Limiter)
	l.limit.Store(int64(n))
	return l
}

// Set changes the limit. Streams that run more at the moment let items finish and start no others until they are below
// it. A stream's [Window], which it has from the beginning of its loop, bounds what it can use of a limit that was raised.
// An adaptive limit goes on from n, kept within its bounds. Set panics unless n is positive.
func (l *Limiter) Set(n int) {
	mustBePositive("Limiter.Set", n)
	l.mu.Lock()
	if a := l.adapt; a != nil {
		n = a.set(n)
	}
	l.limit.Store(int64(n))
	l.mu.Unlock()
	l.tell()
}

// Current returns the limit in force.
func (l *Limiter) Current() int { return int(l.limit.Load()) }

// most is the limit now, or the largest that an adaptive one may find.
func (l *Limiter) most() int {
	if l.adapt != nil {
		return int(l.adapt.max)
	}
	return l.Current()
}

// tell makes the streams look at the limit again.
func (l *Limiter) tell() {
	l.mu.Lock()
	calls := make([]func(), 0, len(l.streams))
	for f := range l.streams {
		calls = append(calls, *f)
	}
	l.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// join calls grown whenever the limit may have grown, until leave is called.
func (l *Limiter) join(grown func()) (leave func()) {
	key := &grown
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == nil {
		l.streams = make(map[*func()]struct{})
	}
	l.streams[key] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.streams, key)
	}
}

// begin and end tell an adaptive limit of one item.
func (l *Limiter) begin() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.adapt.begin()
	return time.Now()
}

func (l *Limiter) end(begun time.Time, err error) {
	took := time.Since(begun)
	l.mu.Lock()
	before := l.limit.Load()
	now := l.adapt.end(took, err)
	l.limit.Store(now)
	l.mu.Unlock()
	if now > before {
		l.tell()
	}
}

// AdaptiveLimit lets a stream find out how many items the far side can take at once, between min and max, and follow it
// when that changes. It starts with min. Use it where what is behind the function has a capacity that you do not know;
// let the function return [Overloaded] for an answer that says "too much".
//
// The limit is set anew after about as many items as it allows at once. It is multiplied by the gradient, the time an item
// takes without a queue over the time it takes now, and grows by its square root, which is the queue it keeps (Netflix's
// concurrency-limits, after L. Brakmo and L. Peterson, "TCP Vegas", 1995); it doubles until it meets the first
// queue. A limit that is not reached does not grow. Overload lowers it in proportion (M. Alizadeh and others, "Data Center
// TCP", 2010): by the share of the items that met it, and when that is above a tenth by the share of the limit that was
// busy with them, once for all that began before. The time without a queue is measured again every 50 changes by halving
// the limit for a moment (N. Cardwell and others, "BBR", 2016). With [Retry] each attempt counts.
//
// It panics unless 0 < min <= max. A bound above 2,147,483,647 is as good as that.
func AdaptiveLimit(min, max int) *Limiter {
	if min <= 0 || max < min {
		panic(fmt.Sprintf("meanwhile: AdaptiveLimit(%d, %d): give two positive numbers, the smaller first", min, max))
	}
	a := &adapter{min: bound(min), max: bound(max), limit: bound(min), doubling: true}
	l := &Limiter{adapt: a}
	l.limit.Store(int64(a.limit))
	return l
}

// bound is a bound of an adaptive limit, as far as a float64 has each number and an int has room.
func bound(n int) float64 { return float64(min(n, math.MaxInt32)) }

// Overloaded marks an error as the far side's word that it has too much to do, for [AdaptiveLimit]. It returns nil for
// nil. The mark holds through wrapping.
func Overloaded(err error) error {
	if err == nil {
		return nil
	}
	return &overloadedError{err}
}

type overloadedError struct{ err error }

func (e *overloadedError) Error() string { return e.err.Error() }

func (e *overloadedError) Unwrap() error { return e.err }
