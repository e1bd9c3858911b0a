package scope

import (
	"context"
	"sync"
	"time"
)

// A clock wakes the sleeping tasks of one tree. It has one timer for all of them: a timer for each would take half of
// what a sleeping task needs beside its goroutine.
type clock struct {
	start time.Time

	mu       sync.Mutex
	sleepers []alarm // a heap, the earliest first
	timer    *time.Timer
}

// An alarm is a sleeper's place in the heap.
type alarm struct {
	at time.Duration // since start
	s  *sleeper
}

// A sleeper is a goroutine that waits for a time.
type sleeper struct{ Parker }

func (*sleeper) Kind() WaiterKind { return IsSleeper }

// clock returns the clock of n's tree.
func (n *Node) clock() *clock {
	for p := n.Parent; p != nil; p = n.Parent {
		n = p
	}
	if n.Is(isClocked) {
		return n.rare.clock
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

// Sleep waits for d, or for the cancellation of ctx, which is n's or derived from it, and whose error it returns.
func (n *Node) Sleep(ctx context.Context, d time.Duration) error {
	c := n.clock()
	s := new(sleeper)
	s.Ready()
	c.add(s, d)
	s.Park(ctx, s)
	if err := CtxError(ctx); err != nil && c.remove(s) {
		return err
	}
	return nil
}

// Until is when s will be woken, or zero if it has been.
func (s *sleeper) Until() time.Time {
	c := s.after.n.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.index < 0 {
		return time.Time{}
	}
	return c.start.Add(c.sleepers[s.index].at)
}

// Forever is the longest sleep. It leaves room for the age of the tree, and for the date, from which a bubble of synctest
// counts.
const Forever = 100 * 365 * 24 * time.Hour

func (c *clock) add(s *sleeper, d time.Duration) {
	d = min(d, Forever)
	at := time.Since(c.start) + d
	c.mu.Lock()
	c.push(alarm{at, s}, d)
	c.mu.Unlock()
}

// push puts an alarm into the heap. It is apart because a lock that has to wait takes much of the stack: it should find as
// little there as possible.
//
//go:noinline
func (c *clock) push(a alarm, d time.Duration) {
	c.sleepers = append(c.sleepers, a)
	if c.up(len(c.sleepers)-1) > 0 {
		return
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.ring)
	} else {
		c.timer.Reset(d)
	}
}

// remove takes s out, and reports false if its time has come.
func (c *clock) remove(s *sleeper) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.index < 0 {
		return false
	}
	c.take(int(s.index))
	if len(c.sleepers) == 0 {
		c.timer.Stop()
	}
	return true
}

// ring wakes those whose time has come, without the lock, which they need for their next sleep. When they are many,
// another goroutine wakes the next of them at the same time.
func (c *clock) ring() {
	var due [32]*sleeper
	n := c.due(due[:])
	if n == len(due) {
		go c.ring()
	}
	for _, s := range due[:n] {
		s.Wake()
	}
}

// due takes out those whose time has come, as many as there is room for, and sets the timer when these are all.
func (c *clock) due(list []*sleeper) (n int) {
	now := time.Since(c.start)
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; n < len(list) && len(c.sleepers) > 0; n++ {
		first := c.sleepers[0]
		if first.at > now {
			c.timer.Reset(first.at - now)
			return n
		}
		list[n] = first.s
		c.take(0)
	}
	return n
}

// take removes the alarm at i.
func (c *clock) take(i int) {
	c.sleepers[i].s.index = -1
	last := len(c.sleepers) - 1
	moved := c.sleepers[last]
	c.sleepers[last] = alarm{}
	c.sleepers = c.sleepers[:last]
	if i == last {
		return
	}
	c.sleepers[i] = moved
	if c.up(i) == i {
		c.down(i)
	}
}

// up moves the alarm at i to its place towards the first, and returns that.
func (c *clock) up(i int) int {
	a := c.sleepers[i]
	for i > 0 {
		parent := (i - 1) / 2
		if c.sleepers[parent].at <= a.at {
			break
		}
		c.put(i, c.sleepers[parent])
		i = parent
	}
	c.put(i, a)
	return i
}

// down moves the alarm at i to its place away from the first.
func (c *clock) down(i int) {
	a := c.sleepers[i]
	for {
		child := 2*i + 1
		if right := child + 1; right < len(c.sleepers) && c.sleepers[right].at < c.sleepers[child].at {
			child = right
		}
		if child >= len(c.sleepers) || a.at <= c.sleepers[child].at {
			break
		}
		c.put(i, c.sleepers[child])
		i = child
	}
	c.put(i, a)
}

func (c *clock) put(i int, a alarm) {
	c.sleepers[i] = a
	a.s.index = int32(i)
}
