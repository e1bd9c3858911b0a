package job

import (
	"sync"
	"time"
)

// A storeClock tells the time by the clock of the store, which the store has reported at some moment. From then on it uses the monotonic clock of
// the worker alone: the worker's wall clock may be wrong, and jump.
type storeClock struct {
	known chan struct{} // closed when the store has reported its time for the first time

	mu        sync.Mutex
	ours      time.Time // that moment, by the worker's clock
	storeTime time.Time // the same by the store's clock
}

func newStoreClock() *storeClock { return &storeClock{known: make(chan struct{})} }

// set records that the store's clock showed theirs at a moment between before and after by the worker's clock.
func (c *storeClock) set(before, theirs, after time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.storeTime.IsZero() {
		close(c.known)
	}
	c.ours, c.storeTime = before.Add(after.Sub(before)/2), theirs.Round(0).UTC()
}

// at converts a time of the worker's clock to the store's clock; it returns the same time before the store has reported its own.
func (c *storeClock) at(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.storeTime.IsZero() {
		return now.Round(0).UTC()
	}
	return c.storeTime.Add(now.Sub(c.ours))
}
