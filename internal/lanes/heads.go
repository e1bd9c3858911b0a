package lanes

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// due finds out which jobs of lanes are due, and reads the heads of lanes with a key whose jobs do not run in order.
func (c *Claim) due(of []*lane) ([]Due, error) {
	due := make([]Due, len(of))
	var headed, ordered []int
	for i, l := range of {
		l.heads, l.more, l.unsure = nil, false, false
		switch {
		case l.key == "":
			var err error
			if due[i], err = c.Rows.Plain(); err != nil {
				return nil, err
			}
		case c.inOrder(l.key):
			ordered = append(ordered, i)
		default:
			if err := c.used(l); err != nil {
				return nil, err
			}
			l.used = Head{}
			headed = append(headed, i)
		}
	}
	if err := c.dueInOrder(of, ordered, due); err != nil {
		return nil, err
	}
	return due, c.dueHeads(of, headed, due)
}

// inOrder reports whether the jobs of a lane run in order.
func (c *Claim) inOrder(key string) bool { return key != "" && c.Queue.Limits.EachKey.InOrder }

// dueInOrder is due for lanes that may start only their first job.
func (c *Claim) dueInOrder(of []*lane, at []int, due []Due) error {
	if len(at) == 0 {
		return nil
	}
	keys := make([]string, len(at))
	for n, i := range at {
		keys[n] = of[i].key
	}
	first, err := c.Rows.First(keys)
	if err != nil {
		return err
	}
	for n, i := range at {
		due[i] = first[n]
	}
	return nil
}

// dueHeads is due for lanes with heads. If the jobs of the highest priority are not due yet, it reads those of the next one.
func (c *Claim) dueHeads(of []*lane, at []int, due []Due) error {
	asks := make([]HeadsOf, len(at))
	for n, i := range at {
		asks[n] = HeadsOf{of[i].key, job.HighestPriority + 1}
	}
	for len(asks) > 0 {
		found, err := c.Rows.Heads(asks, mostHeads+1)
		if err != nil {
			return err
		}
		left := 0
		for n, i := range at {
			if first := of[i].read(found[n], c.At.UnixMicro(), &due[i]); first > 0 && due[i].Priority == 0 {
				asks[left], at[left] = HeadsOf{of[i].key, first}, i
				left++
			}
		}
		asks, at = asks[:left], at[:left]
	}
	return nil
}

// read notes the first waiting jobs of a lane and returns their priority; zero if there are none.
func (l *lane) read(found []Head, now int64, d *Due) (priority int) {
	if len(found) == 0 {
		return 0
	}
	first := found[0]
	for _, h := range found {
		switch {
		case h.Priority != first.Priority || h.RunAt > now || len(l.heads) >= mostHeads:
			l.more = true
		default:
			l.heads = append(l.heads, h)
		}
	}
	if d.Queued = true; len(l.heads) > 0 {
		d.Priority = first.Priority
	} else {
		d.Later(time.UnixMicro(first.RunAt))
	}
	return first.Priority
}

// load continues the background search: it reads some lanes that are not known, for a claim of n jobs.
func (c *Claim) load(n int) error {
	q := c.known
	for left := max(n, leastLoaded); q.searching && left > 0 && q.openLanes < MostKnown; {
		read, err := c.loadSome(min(left, MostKnown-q.openLanes))
		if err != nil {
			return err
		}
		c.changed = true
		if left -= read; read > 0 {
			continue
		}
		q.searching, q.after, q.forgotten = q.forgotten, "", false
	}
	return nil
}

// loadSome reads up to n lanes after those that the search has read. It returns how many it read; zero at the end.
func (c *Claim) loadSome(n int) (int, error) {
	loaded, err := c.Rows.Load(c.known.after, n, rowsOfLane)
	if err != nil || len(loaded) == 0 {
		return 0, err
	}
	var found, again []*lane
	var due []Due
	for _, of := range loaded {
		if c.known.byKey[of.Key] != nil {
			continue
		}
		l, d := &lane{key: of.Key}, Due{}
		if !c.inOrder(l.key) {
			l.read(of.Heads, c.At.UnixMicro(), &d)
		}
		if d.Priority == 0 {
			again = append(again, l)
		} else {
			found, due = append(found, l), append(due, d)
		}
	}
	c.known.after = loaded[len(loaded)-1].Key
	more, err := c.due(again)
	if err != nil {
		return 0, err
	}
	return len(loaded), c.noteDue(append(found, again...), append(due, more...))
}

// refill reads more heads of lanes whose known heads were all taken, behind those. A new job in front of them would have changed the lane.
func (c *Claim) refill(of []*lane) error {
	asks := make([]MoreOf, len(of))
	for i, l := range of {
		if err := c.used(l); err != nil {
			return err
		}
		asks[i] = MoreOf{l.key, l.used.Priority, l.used, mostHeads}
	}
	if len(asks) == 0 {
		return nil
	}
	found, err := c.Rows.More(asks)
	for i, heads := range found {
		of[i].heads = heads
	}
	return err
}

// extend reads more heads with a priority, for lanes from which more jobs are wanted than they have heads.
func (c *Claim) extend(of []*lane, priority int, want []int) error {
	var asks []MoreOf
	var at []*lane
	for i, l := range of {
		if want[i] <= len(l.heads) || !l.more {
			continue
		}
		last := l.used
		if len(l.heads) > 0 {
			last = l.heads[len(l.heads)-1]
		}
		asks, at = append(asks, MoreOf{l.key, priority, last, want[i] - len(l.heads)}), append(at, l)
	}
	if len(asks) == 0 {
		return nil
	}
	found, err := c.Rows.More(asks)
	for i, heads := range found {
		at[i].heads = append(at[i].heads, heads...)
	}
	return err
}
