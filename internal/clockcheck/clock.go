// Package clockcheck reports whether the clock can be trusted to say how old something is. A machine may begin with a wrong date, and
// have it set right a moment later; what is deleted by age meanwhile does not come back.
package clockcheck

import (
	"sync"
	"time"
)

const (
	// Settle is how long a clock has to run without a jump before it is trusted.
	TrustAfter = 10 * time.Minute

	mostDrift = time.Minute // between two readings: more is a jump, less a clock that is being set right
)

// A Clock watches the clock of the system from New on. Its methods may be called at once.
type Clock struct {
	mu    sync.Mutex
	begun time.Time     // of New; its monotonic part is what the clock is compared with
	even  time.Duration // after it: since when the clock has gone on evenly
	last  reading
}

type reading struct {
	wall time.Time     // without a monotonic part
	mono time.Duration // since the beginning
}

// New returns a clock that is not trusted yet.
func New() *Clock {
	now := time.Now()
	return &Clock{begun: now, last: reading{wall: now.Round(0)}}
}

// Trusted reports whether the clock has run for long enough without a jump. It has to be called now and then to notice a jump. A machine that was
// suspended has had one.
func (c *Clock) Trusted() bool {
	now := time.Now()
	return c.update(reading{now.Round(0), now.Sub(c.begun)})
}

func (c *Clock) update(l reading) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if drift := l.wall.Sub(c.last.wall) - (l.mono - c.last.mono); drift.Abs() > mostDrift {
		c.even = l.mono
	}
	c.last = l
	return l.mono-c.even >= TrustAfter
}
