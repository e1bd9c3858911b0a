package job

import (
	"sync"
	"time"
)

// A storeClock tells the time by the clock of the store, which has said at some moment what it is. Since then only the monotonic
// clock of the worker counts: its other one may be wrong, and jump.
type storeClock struct {
	known chan struct{} // closed when the store has said it for the first time

	mu        sync.Mutex
	ours      time.Time // that moment
	storeTime time.Time // the same by the store's clock
}

func newStoreClock() *storeClock { return &storeClock{known: make(chan struct{})} }

// set notes what the time is by the store's clock, at a moment between two of ours.
func (c *storeClock) set(before, theirs, after time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.storeTime.IsZero() {
		close(c.known)
	}
	c.ours, c.storeTime = before.Add(after.Sub(before)/2), theirs.Round(0).UTC()
}

// at returns one of our moments by the store's clock; by ours before the store has said anything.
func (c *storeClock) at(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.storeTime.IsZero() {
		return now.Round(0).UTC()
	}
	return c.storeTime.Add(now.Sub(c.ours))
}
