package meanwhile

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// defaultLimit is the limit of a stream without a Limiter.
const defaultLimit = 64

// A Limiter is a concurrency limit: it bounds how many items of streams run at the same time. [Limit] and [AdaptiveLimit]
// return one. It is a StreamOption and can be changed and read while streams use it. Given to several streams, it bounds all
// of them together, as a [Pacer] does; their items get places in the order in which they ask. The function of an item must
// not range over another stream with the same Limiter: the item would keep the place that its own items wait for. Such a
// stream panics. Its methods may be called concurrently.
type Limiter struct {
	limit  atomic.Int64
	places scope.Sem // one for each running item

	mu      sync.Mutex
	streams map[*func()]struct{} // to call when the limit grows
	adapt   *adapter             // nil for a limit that is set by hand
}

func (*Limiter) streamOption() {}

// Limit lets a stream run up to n items concurrently. The default of a stream is 64. It panics unless n is positive.
func Limit(n int) *Limiter {
	mustBePositive("Limit", n)
	l := new(Limiter)
	l.put(n)
	return l
}

// put sets the limit. If it was raised, items that wait get the additional places.
func (l *Limiter) put(n int) {
	l.limit.Store(int64(n))
	l.places.Resize(n)
}

// Set changes the limit. Streams that are running more items let them finish and start no others until they are below the
// limit. A stream's [Window], which is fixed when the stream is created, bounds how much of a raised limit it can use. An
// adaptive limit continues from n, kept within its bounds. Set panics unless n is positive.
func (l *Limiter) Set(n int) {
	mustBePositive("Limiter.Set", n)
	l.mu.Lock()
	if a := l.adapt; a != nil {
		n = a.set(n)
	}
	l.put(n)
	l.mu.Unlock()
	l.notify()
}

// Current returns the limit in force.
func (l *Limiter) Current() int { return int(l.limit.Load()) }

// most returns the current limit, or the upper bound of an adaptive one.
func (l *Limiter) most() int {
	if l.adapt != nil {
		return int(l.adapt.max)
	}
	return l.Current()
}

// notify makes the streams check the limit again.
func (l *Limiter) notify() {
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

// join makes notify call grown, until leave is called.
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

// give releases the place of an item.
func (l *Limiter) give() { l.places.Release(1) }

// mustNotNest panics when n is in an item of a stream with the same limiter, or the limiter is the zero value.
func (l *Limiter) mustNotNest(n *scope.Node) {
	if l.Current() == 0 {
		panic("meanwhile: a stream with a zero Limiter, which lets nothing run: make one with Limit or AdaptiveLimit")
	}
	for ; n != nil; n = n.Parent {
		if s, ok := n.Stream().(interface{ limiter() *Limiter }); ok && s.limiter() == l {
			panic("meanwhile: a stream inside an item of " + n.Path() + ", which has the same Limiter: the item would keep the place " +
				"that its own items wait for; give the inner stream a Limiter of its own")
		}
	}
}

// startItem and end report the start and the end of an item to an adaptive limit.
func (l *Limiter) startItem() start {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.adapt.startItem()
}

func (l *Limiter) end(s start, err error) {
	took := time.Since(s.at)
	refused := isOverloaded(err)
	if l.adaptTo(s, took, err == nil, refused) {
		l.notify()
	}
}

// adaptTo reports an end to the adaptive limit, and whether the limit has risen.
func (l *Limiter) adaptTo(s start, took time.Duration, succeeded, refused bool) (risen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.limit.Load()
	now := l.adapt.end(s, took, succeeded, refused)
	if now != before {
		l.put(int(now))
	}
	return now > before
}

// isOverloaded reports whether err is marked as the answer of an overloaded server. Methods of err are the program's code:
// no lock may be held while they run, and an err whose methods panic counts as not marked.
func isOverloaded(err error) (overloaded bool) {
	defer func() {
		if recover() != nil {
			overloaded = false
		}
	}()
	mark, ok := scope.As[interface{ Overloaded() bool }](err)
	return ok && mark.Overloaded()
}

// AdaptiveLimit returns a limit between min and max that finds out how many items the server can process at the same time,
// and follows it when that changes. It starts with min. Use it when you do not know the capacity of the server or database
// that the function calls; let the function mark the error with [retry.Overloaded] when the server answers that it is
// overloaded.
//
// The limit doubles until an item is refused or items take longer. Each refused item lowers the limit by one, so that the
// limit becomes the number of items that the server accepted; one overload lowers it to half at most. The limit then stays
// below the number that was refused until 100 items have succeeded, and tries one more. So about one item in a hundred is
// refused, or fewer (additive increase and multiplicative decrease, after V. Jacobson, "Congestion Avoidance and Control",
// 1988). If the server queues instead, the limit follows the latency: the median time of about as many items as the limit
// allows is compared with the time without a queue. The limit grows, faster and faster, while the median is up to 1.05 times
// as long, and is lowered in proportion when it is more than 1.1 times as long (Netflix's concurrency-limits, after L.
// Brakmo and L. Peterson, "TCP Vegas", 1995). The median ignores a few slow items. A limit that is not reached does not
// grow. After a queue was met, the time without a queue is measured again from time to time, by halving the limit briefly
// (N. Cardwell and others, "BBR", 2016). With [Retry] each attempt counts.
//
// It panics unless 0 < min <= max. A bound above 2,147,483,647 counts as that number.
func AdaptiveLimit(min, max int) *Limiter {
	if min <= 0 || max < min {
		panic(fmt.Sprintf("meanwhile: AdaptiveLimit(%d, %d): give two positive numbers, the smaller first", min, max))
	}
	a := newAdapter(bound(min), bound(max))
	l := &Limiter{adapt: a}
	l.put(int(a.limit))
	return l
}

// bound converts a bound of an adaptive limit. It is capped so that a float64 represents each number exactly and an int can
// hold it.
func bound(n int) float64 { return float64(min(n, math.MaxInt32)) }
