package job

import (
	"slices"
	"time"
)

const (
	mostLate   = time.Minute // a tick that its worker enqueues later was missed: the store was unreachable, or the machine slept
	maxCatchUp = 1000        // ticks
)

// due returns which ticks in (last, now] to enqueue, the oldest first. seen is the time up to which this worker has checked for ticks, or when it
// started: earlier ticks were either enqueued by another worker or missed. If several are due at once, all but the newest were overtaken, and only
// CatchUpAll enqueues them.
func due(s *schedule, last, seen, now time.Time, c CatchUp) []time.Time {
	switch c {
	case CatchUpAll:
		return newest(s, last, now, maxCatchUp)
	case CatchUpNone:
		return newest(s, latest(last, seen, now.Add(-mostLate)), now, 1)
	}
	return newest(s, last, now, 1)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// newest returns the newest ticks in (last, now], at most n, the oldest first. It looks back twice as far until there are n, so that its time
// depends on the number of ticks to return, not on how long ago last is.
func newest(s *schedule, last, now time.Time, n int) []time.Time {
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		whole := back > 1<<61 || !from.After(last)
		if whole {
			from = last
		}
		var ticks []time.Time
		for t := s.next(from); !t.IsZero() && !t.After(now); t = s.next(t) {
			if ticks = append(ticks, t); len(ticks) >= 2*n+64 {
				ticks = append(ticks[:0], ticks[len(ticks)-n:]...)
			}
		}
		if whole || len(ticks) >= n {
			return ticks[max(0, len(ticks)-n):]
		}
	}
}
