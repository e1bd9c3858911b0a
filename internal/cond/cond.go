// Package cond wakes tasks that wait for something to change.
package cond

import (
	"context"
	"sync"
)

// A Cond wakes tasks that wait for a change of the data that a mutex guards, like a sync.Cond, but the wait also ends with ctx. The zero value is
// ready.
type Cond struct {
	next chan struct{} // closed by the next change; nil while no task waits
}

// Wait returns nil after the next change, or the cause when ctx ends. The caller holds the mutex, as it does again when Wait returns.
func (c *Cond) Wait(ctx context.Context, mu *sync.Mutex) error {
	if c.next == nil {
		c.next = make(chan struct{})
	}
	next := c.next
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-next:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Broadcast wakes the tasks that wait. The caller holds the mutex.
func (c *Cond) Broadcast() {
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Signal sends to a channel with a buffer of one, unless that is full.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
