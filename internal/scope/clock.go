package scope

import (
	"sync"
	"time"
)

// A clock wakes the sleeping tasks of one tree. It has one timer for all of them: a timer for each would be half of the memory that a
// sleeping task needs besides its goroutine.
type clock struct {
	start time.Time

	mu      sync.Mutex
	waiters []alarm // a heap, the earliest first
	timer   *time.Timer
}

// An alarm is the entry of a timeWaiter in the heap.
type alarm struct {
	at time.Duration // since start
	s  *timeWaiter
}

// A timeWaiter is a goroutine that waits for a time.
type timeWaiter struct{ BlockedWait }

func (*timeWaiter) Kind() WaiterKind { return ForTime }

// clock returns the clock of n's tree.
func (n *Node) clock() *clock {
	for p := n.Parent; p != nil; p = n.Parent {
		n = p
	}
	if n.Is(isClocked) {
		return n.lazy.clock
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.moreLocked()
	if r.clock == nil {
		r.clock = &clock{start: time.Now()}
		n.flags.Or(isClocked)
	}
	return r.clock
}

// SetAlarm returns a waiter, not yet blocked, that is woken after d by the clock of n's tree.
func (n *Node) SetAlarm(d time.Duration) *timeWaiter {
	s := new(timeWaiter)
	s.Ready()
	n.clock().add(s, d)
	return s
}

// StopAlarm removes the alarm of s. It returns false if its time has come already.
func (n *Node) StopAlarm(s *timeWaiter) bool { return n.clock().remove(s) }

// Until returns the time at which s will be woken, or the zero time if its time has come.
func (s *timeWaiter) Until() time.Time {
	c := s.after.n.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.index < 0 {
		return time.Time{}
	}
	return c.start.Add(c.waiters[s.index].at)
}

// Forever is the longest sleep. It can be added to the age of a tree, and to the date at which a synctest bubble starts, without an
// overflow.
const Forever = 100 * 365 * 24 * time.Hour

func (c *clock) add(s *timeWaiter, d time.Duration) {
	d = min(d, Forever)
	at := time.Since(c.start) + d
	c.mu.Lock()
	c.push(alarm{at, s}, d)
	c.mu.Unlock()
}

// push adds an alarm to the heap. It is a function of its own because a lock that has to wait needs much of the stack: the caller, which
// locks, should use as little of it as possible.
//
//go:noinline
func (c *clock) push(a alarm, d time.Duration) {
	c.waiters = append(c.waiters, a)
	if c.up(len(c.waiters)-1) > 0 {
		return
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.ring)
	} else {
		c.timer.Reset(d)
	}
}

// remove removes s from the heap. It returns false if the time of s has come already.
func (c *clock) remove(s *timeWaiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.index < 0 {
		return false
	}
	c.removeAt(int(s.index))
	if len(c.waiters) == 0 {
		c.timer.Stop()
	}
	return true
}

// ring wakes the waiters whose time has come. It does so without the lock, which they need for their next sleep. If there are more than
// it takes at once, another goroutine wakes the next ones at the same time.
func (c *clock) ring() {
	var due [32]*timeWaiter
	n := c.due(due[:])
	if n == len(due) {
		go c.ring()
	}
	for _, s := range due[:n] {
		s.Wake()
	}
}

// due removes from the heap the waiters whose time has come, as many as fit into list. If those are all, it sets the timer for the next
// one.
func (c *clock) due(list []*timeWaiter) (n int) {
	now := time.Since(c.start)
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; n < len(list) && len(c.waiters) > 0; n++ {
		first := c.waiters[0]
		if first.at > now {
			c.timer.Reset(first.at - now)
			return n
		}
		list[n] = first.s
		c.removeAt(0)
	}
	return n
}

// removeAt removes the alarm at i.
func (c *clock) removeAt(i int) {
	c.waiters[i].s.index = -1
	last := len(c.waiters) - 1
	moved := c.waiters[last]
	c.waiters[last] = alarm{}
	c.waiters = c.waiters[:last]
	if i == last {
		return
	}
	c.waiters[i] = moved
	if c.up(i) == i {
		c.down(i)
	}
}

// up moves the alarm at i towards the root of the heap, as far as it belongs, and returns its new index.
func (c *clock) up(i int) int {
	a := c.waiters[i]
	for i > 0 {
		parent := (i - 1) / 2
		if c.waiters[parent].at <= a.at {
			break
		}
		c.put(i, c.waiters[parent])
		i = parent
	}
	c.put(i, a)
	return i
}

// down moves the alarm at i away from the root of the heap, as far as it belongs.
func (c *clock) down(i int) {
	a := c.waiters[i]
	for {
		child := 2*i + 1
		if right := child + 1; right < len(c.waiters) && c.waiters[right].at < c.waiters[child].at {
			child = right
		}
		if child >= len(c.waiters) || a.at <= c.waiters[child].at {
			break
		}
		c.put(i, c.waiters[child])
		i = child
	}
	c.put(i, a)
}

func (c *clock) put(i int, a alarm) {
	c.waiters[i] = a
	a.s.index = int32(i)
}
