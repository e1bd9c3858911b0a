package meanwhile

import (
	"errors"
	"math"
	"time"
)

const (
	tolerance    = 1.2 // a rise of the time per item that is no sign of a queue
	minSamples   = 8   // items per window at least
	probeWindows = 50  // windows between two measurements of the time without a queue
	stray        = 0.1 // share of items that may meet overload without a sign that the limit is too high
)

// An adapter computes an adaptive limit. Its Limiter's mutex guards it.
//
// Items are counted in windows of about limit items. A probe takes two: draining, in which the items that met a queue end,
// and probing, which is measured.
type adapter struct {
	min, max, limit float64
	doubling        bool // no queue met yet
	running         int

	// The window.
	since     time.Time
	peak      int // of running
	items     int
	timed     int           // the items that succeeded
	total     time.Duration // taken by them
	overloads int           // the items that met overload
	refused   time.Duration // taken by them
	late      bool          // an item met overload that began before the last cut, which it must not repeat

	cut     time.Time     // when overload lowered the limit
	base    time.Duration // what an item takes without a queue; 0 is unknown
	windows int           // since base was measured
	probe   probeState
	resume  float64 // the limit after the probe
}

type probeState uint8

const (
	notProbing probeState = iota
	draining
	probing
)

func (a *adapter) set(n int) int {
	a.limit = math.Max(a.min, math.Min(a.max, float64(n)))
	a.doubling, a.probe = false, notProbing
	return int(a.limit)
}

func (a *adapter) begin() {
	if a.since.IsZero() {
		a.since = time.Now()
	}
	a.running++
	a.peak = max(a.peak, a.running)
}

// end takes in an item and returns the limit.
func (a *adapter) end(took time.Duration, err error) int64 {
	a.running--
	a.items++
	var overload *overloadedError
	switch {
	case err == nil:
		a.timed++
		a.total += took
	case !errors.As(err, &overload):
	case took > time.Since(a.cut):
		a.late = true
	default:
		a.overloads++
		a.refused += took
	}
	enough := a.limit
	if a.probe == draining {
		enough = a.resume // all that began before the limit was halved
	}
	if a.items >= max(minSamples, int(enough)) {
		a.adjust()
		a.since, a.peak, a.late = time.Now(), a.running, false
		a.items, a.timed, a.total, a.overloads, a.refused = 0, 0, 0, 0, 0
	}
	return int64(a.limit)
}

// adjust sets the limit at the end of a window.
func (a *adapter) adjust() {
	var now time.Duration
	if a.timed > 0 {
		now = a.total / time.Duration(a.timed)
	}
	full := a.peak >= int(a.limit)
	lost := float64(a.overloads) / float64(a.items)
	switch {
	case lost > stray:
		// Refusals come quickly: their number says less than how much of the limit they kept busy.
		share := float64(a.refused) / math.Max(1, float64(a.peak)*float64(time.Since(a.since)))
		if a.probe != notProbing {
			a.probe, a.windows = notProbing, 0
		}
		a.doubling, a.cut = false, time.Now()
		a.move(a.limit * math.Max(0.5, math.Min(0.9, 1-share)))
		return
	case now == 0 || a.late:
		return
	case a.probe == draining:
		a.probe = probing
		return
	case a.probe == probing:
		a.base, a.windows, a.probe = now, 0, notProbing
		a.move(a.resume)
		return
	case a.base == 0:
		a.base = now
	case now < a.base:
		a.base += (now - a.base) / 4 // not all of it: much of what a noisy time falls by is luck
	}
	a.windows++
	if a.windows >= probeWindows && a.limit > a.min {
		a.probe, a.resume = draining, a.limit
		a.move(a.limit / 2)
		return
	}
	gradient := math.Max(0.5, math.Min(1, tolerance*float64(a.base)/float64(now)))
	a.doubling = a.doubling && gradient == 1
	next := a.limit*gradient*(1-lost) + math.Sqrt(a.limit)
	if a.doubling {
		next = a.limit * 2
	}
	if !full {
		next = math.Min(next, a.limit) // what runs does not need more
	}
	a.move(next)
}

func (a *adapter) move(limit float64) { a.limit = math.Max(a.min, math.Min(a.max, limit)) }
