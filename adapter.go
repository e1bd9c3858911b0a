package meanwhile

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	growthEnd     = 1.05 // rise of the median time of an item with which the limit does not grow any more
	tolerance     = 1.1  // and the one beyond which it is lowered
	quietItems    = 100  // items that have to succeed before a limit that met a refusal is tried again
	minWindow     = 12   // items of a window at least
	startWindow   = 8    // the same while the limit doubles
	probeWindow   = 24   // and while the time without a queue is measured
	largestWindow = 512  // items of a window at most
	probeWindows  = 50   // windows from the first sign of a queue to a measurement of the time without one
	firstProbe    = 5    // the same for the first queue, since what was measured while the limit doubled is rough
	patience      = 3    // times the usual time of an item; who takes longer is slower than the median
)

// An adapter computes an adaptive limit. Its Limiter's mutex guards it.
//
// Refusals act at once: the place of an item that was refused is taken away, so that the limit becomes the number of items
// that the server accepted. Latency acts at the end of each window: a window is about as many items as the limit allows,
// the first that begin after the limit was changed. Those from before have met another queue; and the first that end are no
// fair sample, since they are the quick ones.
type adapter struct {
	min, max, limit float64
	running         int
	step            float64 // what the limit grows by next, if it can; infinite until it meets a queue or a refusal

	wall  float64 // the number at once that was refused last; 0 is unknown
	quiet int     // items that succeeded since the last refusal
	cut   int     // the first window after the present overload began
	floor float64 // what that may lower the limit to: half

	window  int             // its number
	size    int             // how many items it has
	begun   int             // of them
	open    int             // of them, those that have not ended
	last    time.Time       // when the last of them began
	peak    int             // of running
	refused bool            // an item was
	times   []time.Duration // of those that succeeded
	usual   time.Duration   // the median of the window before

	base    time.Duration // what an item takes without a queue; 0 is unknown
	probeIn int           // windows until base is measured again; 0 is none planned
	probing bool          // the limit is halved, to measure base
	resume  float64       // the limit after that

	queued     float64       // the limit when items began to take longer; 0 when they do not
	queuedTime time.Duration // what they took then
}

// A start is what an adapter remembers of an item that runs.
type start struct {
	at     time.Time
	window int
	member bool // of that window
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

// end takes in an item, which succeeded, was refused by the server, or failed otherwise, and returns the limit.
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

// complete reports whether the items of the window have ended, or those that have not are few and slower than the median.
func (a *adapter) complete() bool {
	if a.begun < a.size {
		return false
	}
	return a.open == 0 || a.open <= a.size/4 && a.usual > 0 && time.Since(a.last) > patience*a.usual
}

// next begins a window.
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

// move changes the limit. What began before does not count for it.
func (a *adapter) move(limit float64) {
	limit = math.Max(a.min, math.Min(a.max, limit))
	changed := int(limit) != int(a.limit)
	a.limit = limit
	if changed {
		a.next()
	}
}

// refuse takes away the place of an item that was refused, unless the limit was lowered below that already. All that are
// refused of those that began before the first of them came back are one overload, which halves the limit at most.
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
	// Those that have not ended are slower than the median, and so are the times that are missing at the end.
	n := len(a.times) + a.open
	if n < startWindow/2 {
		return // the others failed, which says nothing
	}
	slices.Sort(a.times)
	rank := func(deviations float64) time.Duration {
		i := (float64(n) + deviations*math.Sqrt(float64(n))) / 2
		return a.times[min(len(a.times)-1, int(i))]
	}
	median := rank(0)
	a.usual = median
	if a.probing {
		a.measured(rank(0.5)) // rather too long than too short: that would lower the limit for nothing
		return
	}
	a.base = cmp.Or(a.base, median)
	full := a.peak >= int(a.limit)
	a.probeIn = max(0, a.probeIn-1)
	// What is near the median may be chance.
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

// meetQueue lowers the limit, because items take longer than they should: surely as long as least. When they do not take
// less with a limit that was lowered by a third, it is no queue of ours, and what they take without one is measured again.
func (a *adapter) meetQueue(least, median time.Duration) {
	if math.IsInf(a.step, 1) {
		a.probeIn = firstProbe
	}
	a.probeIn = cmp.Or(a.probeIn, probeWindows)
	a.step = 1
	switch share := a.limit / a.queued; {
	case a.limit <= a.min: // no lower one may be tried
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

// measure halves the limit for a window, in which no item meets a queue.
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

// grow raises the limit, faster each time until something speaks against it. It stops below what was refused, and goes
// beyond that by one for each quietItems that have succeeded since: so many refusals it may cost.
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
