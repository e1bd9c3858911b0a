package job

import "time"

const (
	onTime     = time.Minute // a tick younger than this was not missed: its worker was slow, or its store was away
	maxCatchUp = 1000        // ticks
)

// due returns which ticks in (last, now] to enqueue, the oldest first. Those that are less than a minute old always are; of
// the older ones, which were missed, it depends on the policy. With CatchUpLast none is when one is on time: that one is
// the newest.
func due(s *schedule, last, now time.Time, c CatchUp) []time.Time {
	recent := now.Add(-onTime)
	if recent.Before(last) {
		recent = last
	}
	if c != CatchUpAll {
		ticks := newest(s, recent, now, maxCatchUp)
		if len(ticks) > 0 || c == CatchUpNone {
			return ticks
		}
		return newest(s, last, now, 1)
	}
	return newest(s, last, now, maxCatchUp)
}

// newest returns the newest ticks in (last, now], at most n, the oldest first. It looks back twice as far until there are n,
// so that it takes as long as there are ticks to return, and not as last is ago.
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
