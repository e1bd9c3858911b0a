package scope

import (
	"sync/atomic"
	"time"
)

// Watched says that somebody inspects the trees of this process: from then on, tasks and items note when they begin. It is
// set by the first snapshot, and by Main and Watch.
var Watched atomic.Bool

// tickLength is how exact the beginning of a task is known.
const tickLength = 10 * time.Millisecond

// origin is what ticks are counted from. They begin anew after 497 days.
var origin = time.Now()

// began is what a task that begins now notes: zero, which is unknown, while nobody does.
func began() uint32 {
	if !Watched.Load() {
		return 0
	}
	return tick()
}

// tick is the time now, in ticks; it is never zero.
func tick() uint32 { return max(1, uint32(uint64(time.Since(origin)/tickLength))) }

// A Moment is the time at which ages are computed: one reading of the clock serves many tasks.
type Moment uint32

// Now is the present moment.
func Now() Moment { return Moment(tick()) }

// Age is how long n had run at a moment after its beginning; zero is not known.
func (n *Node) Age(at Moment) time.Duration { return at.since(n.begun) }

// since is how long ago a tick was; it is unknown for none.
func (m Moment) since(begun uint32) time.Duration {
	if begun == 0 {
		return 0
	}
	return time.Duration(uint32(m)-begun) * tickLength
}
