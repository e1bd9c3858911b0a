package meanwhile

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	growthEnd     = 1.05 // the limit grows while the median time of an item is at most this many times the time without a queue
	tolerance     = 1.1  // the limit is lowered when the median time is more than this many times as long
	quietItems    = 100  // items that must succeed after a refusal before the limit exceeds what was refused
	minWindow     = 12   // smallest window, in items
	startWindow   = 8    // the same while the limit doubles
	probeWindow   = 24   // the same while the time without a queue is measured
	largestWindow = 512  // largest window determined by the limit, in items
	probeWindows  = 50   // windows from the first sign of a queue to a measurement of the time without one
	firstProbe    = 5    // the same for the first queue, since the time measured while the limit doubled is rough
	patience      = 3    // a window does not wait for its last items if they take more than this many times the usual time
)

// An adapter computes an adaptive limit. Its Limiter's mutex guards it.
//
// A refusal takes effect immediately: the limit is lowered by the place of the refused item, so that it becomes the number
// of items that the server accepted. Latency takes effect at the end of each window. A window consists of about as many
// items as the limit allows, the first that start after the limit was changed: items that started earlier met another queue,
// and the first items to end would not be a fair sample, since they are the fast ones.
type adapter struct {
	min, max, limit float64
	running         int
	step            float64 // by how much the limit grows next; infinite until the first queue or refusal

	wall  float64 // the concurrency that was refused last; 0 if unknown
	quiet int     // items that succeeded since the last refusal
	cut   int     // number of the first window after the current overload began
	floor float64 // the lowest limit that this overload may cause: half of the limit at its start

	window  int             // number of the current window
	size    int             // how many items it consists of
	begun   int             // how many of them have started
	open    int             // how many of those that started have not ended
	last    time.Time       // when the last of them started
	peak    int             // highest value of running during the window
	refused bool            // whether an item was refused
	times   []time.Duration // of the items of the window that succeeded
	usual   time.Duration   // the median of the previous window

	base    time.Duration // time of an item without a queue; 0 if unknown
	probeIn int           // windows until base is measured again; 0 if that is not planned
	probing bool          // the limit is halved, to measure base
	resume  float64       // the limit to restore after that

	queued     float64       // the limit at which items began to take longer; 0 while they do not
	queuedTime time.Duration // the median time of an item at that limit
}

// A start is what an adapter records when an item starts.
type start struct {
	at     time.Time
	window int
	member bool // whether the item is one of that window
}

func newAdapter(min, max float64) *adapter {
	a := &adapter{min: min, max: max, limit: min, step: math.Inf(1)}
	a.next()
	return a
}

func (a *adapter) set(n int) int {
	a.step, a.probing, a.wall = 1, false, 0
	a.move(float64(n))
	return int(a.limit)
}

func (a *adapter) startItem() start {
	a.running++
	a.peak = max(a.peak, a.running)
	s := start{time.Now(), a.window, a.begun < a.size}
	if s.member {
		a.begun++
		a.open++
		a.last = s.at
	}
	return s
}

// end records that an item succeeded, was refused by the server, or failed otherwise, and returns the limit.
func (a *adapter) end(s start, took time.Duration, succeeded, refused bool) int64 {
	a.running--
	member := s.member && s.window == a.window
	if member {
		a.open--
	}
	switch {
	case succeeded:
		a.quiet++
		if member {
			a.times = append(a.times, took)
		}
	case refused:
		a.refuse(s)
	}
	if a.complete() {
		a.adjust()
		a.next()
	}
	return int64(a.limit)
}

// complete reports whether all items of the window have ended, or the few that have not are slower than the median.
func (a *adapter) complete() bool {
	if a.begun < a.size {
		return false
	}
	return a.open == 0 || a.open <= a.size/4 && a.usual > 0 && time.Since(a.last) > patience*a.usual
}

// next starts a window.
func (a *adapter) next() {
	least := minWindow
	switch {
	case a.probing:
		least = probeWindow
	case math.IsInf(a.step, 1):
		least = startWindow
	}
	a.window++
	a.size = max(least, min(int(a.limit), largestWindow))
	a.begun, a.open, a.peak, a.refused, a.times = 0, 0, a.running, false, a.times[:0]
}

// move changes the limit. If its whole number changes, a new window starts, which ignores items that started earlier.
func (a *adapter) move(limit float64) {
	limit = math.Max(a.min, math.Min(a.max, limit))
	changed := int(limit) != int(a.limit)
	a.limit = limit
	if changed {
		a.next()
	}
}

// refuse lowers the limit by the place of a refused item, unless as many items as the limit allows still run: then it was
// already lowered. Refusals of items that started before the first refusal was returned are one overload, which lowers the
// limit to half at most.
func (a *adapter) refuse(s start) {
	overload := s.window >= a.cut
	if overload {
		a.floor = a.limit / 2
	}
	a.quiet, a.step, a.probing = 0, 1, false
	if a.running < int(a.limit) {
		a.move(math.Max(a.floor, a.limit-1))
	}
	a.wall = a.limit + 1
	if overload {
		a.next()
		a.cut = a.window
	}
	a.refused = true
}

// adjust sets the limit at the end of a window.
func (a *adapter) adjust() {
	// Items that have not ended are slower than the median: their times would be at the end of the sorted list.
	n := len(a.times) + a.open
	if n < startWindow/2 || len(a.times) <= n/2 {
		return // the others failed, and failures say nothing about latency
	}
	slices.Sort(a.times)
	rank := func(deviations float64) time.Duration {
		i := (float64(n) + deviations*math.Sqrt(float64(n))) / 2
		return a.times[min(len(a.times)-1, int(i))]
	}
	median := rank(0)
	a.usual = median
	if a.probing {
		a.measured(rank(0.5)) // rather above the median: if base were too short, the limit would be lowered needlessly
		return
	}
	a.base = cmp.Or(a.base, median)
	full := a.peak >= int(a.limit)
	a.probeIn = max(0, a.probeIn-1)
	// A small deviation of the median may be chance.
	least, most := rank(-1.5), rank(1.5)
	switch {
	case a.rise(least) > tolerance:
		a.meetQueue(least, median)
		return
	case a.probeIn == 1 && a.limit > a.min:
		a.measure()
		return
	case a.rise(most) < 1/tolerance, math.IsInf(a.step, 1):
		a.base += (median - a.base) / 4
	}
	a.queued = 0
	if a.rise(median) > growthEnd {
		a.step = math.Max(1, math.Min(a.step, a.limit)/4)
	}
	if full && !a.refused && a.rise(rank(-0.5)) <= growthEnd {
		a.grow()
	}
}

func (a *adapter) rise(d time.Duration) float64 { return float64(d) / float64(a.base) }

// meetQueue lowers the limit because items take longer than without a queue: least is a lower bound of their median that is
// very probably right. If they take no less time after the limit was lowered by a third, the queue is not caused by this
// limit, and the time without a queue is measured again.
func (a *adapter) meetQueue(least, median time.Duration) {
	if math.IsInf(a.step, 1) {
		a.probeIn = firstProbe
	}
	a.probeIn = cmp.Or(a.probeIn, probeWindows)
	a.step = 1
	switch share := a.limit / a.queued; {
	case a.limit <= a.min: // a lower limit is not allowed
		a.base, a.probeIn = median, 0
		return
	case a.queued == 0 || float64(median) > 1.25*float64(a.queuedTime):
		a.queued, a.queuedTime = a.limit, median
	case share < 0.67 && float64(median) > (1+share)/2*float64(a.queuedTime), a.probeIn == 1:
		a.measure()
		return
	}
	a.move(a.limit * math.Max(0.5, tolerance/a.rise(least)))
}

// measure halves the limit for one window, so that the items of that window meet no queue.
func (a *adapter) measure() {
	a.probing, a.resume = true, a.limit
	a.move(a.limit / 2)
}

// measured ends a measurement of the time without a queue.
func (a *adapter) measured(median time.Duration) {
	if rise := a.rise(median); rise > 0.8 && rise < 1.25 {
		median = (median + a.base) / 2 // noise, more likely than not
	}
	a.base, a.probeIn, a.probing, a.queued = median, 0, false, 0
	a.move(a.resume)
}

// grow raises the limit, by a step that doubles each time until a queue or a refusal resets it. The limit stops below the
// concurrency that was refused last, and exceeds it by one for each quietItems items that have succeeded since. This bounds
// the number of refusals.
func (a *adapter) grow() {
	next := a.limit + math.Min(a.step, a.limit)
	if a.wall > 0 && next >= a.wall {
		earned := float64(a.quiet / quietItems)
		if earned == 0 {
			a.move(math.Max(a.limit, a.wall-1))
			return
		}
		a.wall, a.step = 0, math.Min(a.step, earned)
		next = a.limit + a.step
	}
	a.move(next)
	a.step *= 2
}
