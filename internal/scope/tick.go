package scope

import (
	"sync/atomic"
	"time"
)

// Watched reports whether the trees of this process are inspected: from then on, tasks and items record when they start. It is set by the
// first snapshot, and by Main and Watch.
var Watched atomic.Bool

// tickLength is the resolution of the recorded start of a task.
const tickLength = 10 * time.Millisecond

// origin is the time from which ticks are counted. They wrap around after 497 days.
var origin = time.Now()

// began returns the start time to record for a task that starts now: zero, which means unknown, while Watched is not set.
func began() uint32 {
	if !Watched.Load() {
		return 0
	}
	return tick()
}

// tick returns the current time in ticks; it is never zero.
func tick() uint32 { return max(1, uint32(uint64(time.Since(origin)/tickLength))) }

// A Moment is the time at which ages are computed: one reading of the clock serves many tasks.
type Moment uint32

// Now returns the current moment.
func Now() Moment { return Moment(tick()) }

// Age returns how long n had been running at a moment after its start; zero means unknown.
func (n *Node) Age(at Moment) time.Duration { return at.since(n.begun) }

// since returns how long before m the tick begun was; zero if begun is unknown.
func (m Moment) since(begun uint32) time.Duration {
	if begun == 0 {
		return 0
	}
	return time.Duration(uint32(m)-begun) * tickLength
}
