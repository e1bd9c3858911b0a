package logs

import (
	"context"
	"sync"
)

// changes wakes tasks that wait for a change of what a mutex guards. The zero value is ready.
type changes struct {
	next chan struct{} // closed by the next change; nil while no task waits
}

// wait returns nil after the next change, or the cause when ctx ends. The mutex is held before and after it.
func (c *changes) wait(ctx context.Context, mu *sync.Mutex) error {
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

// happened wakes the tasks that wait. The mutex is held.
func (c *changes) happened() {
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}
