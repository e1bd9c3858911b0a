// Package clockcheck reports whether the system clock can be trusted to compute the age of something. A machine may start with a wrong date that is
// corrected a moment later; data deleted by age in between is lost.
package clockcheck

import (
	"sync"
	"time"
)

const (
	// TrustAfter is how long a clock has to run without a jump before it is trusted.
	TrustAfter = 10 * time.Minute

	mostDrift = time.Minute // between two readings: a larger difference is a jump, a smaller one a gradual correction
)

// A Clock watches the system clock, starting with New. Its methods may be called concurrently.
type Clock struct {
	mu    sync.Mutex
	begun time.Time     // time of New; its monotonic part is the reference for the clock
	even  time.Duration // time since begun at which the last jump was noticed
	last  reading
}

type reading struct {
	wall time.Time     // without a monotonic part
	mono time.Duration // since begun
}

// New returns a clock that is not trusted yet.
func New() *Clock {
	now := time.Now()
	return &Clock{begun: now, last: reading{wall: now.Round(0)}}
}

// Trusted reports whether the clock has run for long enough without a jump. It must be called regularly to notice a jump. A suspended machine counts
// as a jump.
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
