package lanes

import (
	"cmp"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Open returns lanes that have due jobs, and may start them.
func (c *Claim) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	for p := top; p > 0; p-- {
		if p < top {
			after, until = 0, c.Queue.Turn
		}
		found := c.openBy(p, after, until, n)
		if c.Kinds { // a lane that is open may have had none of these kinds
			above, err := c.openAbove(p, after, until)
			if err != nil {
				return nil, err
			}
			found = append(found, above...)
			slices.SortFunc(found, func(a, b job.Lane) int { return cmp.Compare(a.Turn, b.Turn) })
			found = found[:min(len(found), n)]
		}
		if len(found) > 0 {
			return found, c.complete(found)
		}
	}
	return nil, nil
}

// openBy returns up to n lanes that are open with a priority.
func (c *Claim) openBy(priority int, after, until int64, n int) (found []job.Lane) {
	open := &c.known.open[priority-1]
	found = make([]job.Lane, 0, min(n, open.Len()))
	for place := open.Front(); place != nil && len(found) < n; place = place.Next() {
		if l := place.Value.(*lane); after < l.turn && l.turn <= until {
			found = append(found, job.Lane{Key: l.key, Priority: priority, Turn: l.turn, Served: l.served})
		}
	}
	return found
}

// openAbove returns lanes that are open with a higher priority, and have a due job of this one.
func (c *Claim) openAbove(priority int, after, until int64) (found []job.Lane, err error) {
	var keys []string
	for above := priority + 1; above <= job.HighestPriority; above++ {
		for _, l := range c.openBy(above, after, until, c.known.openLanes) {
			if !c.inOrder(l.Key) {
				keys = append(keys, l.Key)
			}
		}
	}
	if c.above = nil; len(keys) == 0 {
		return nil, nil
	}
	if c.above, err = c.Rows.Has(keys, priority); err != nil {
		return nil, err
	}
	for key := range c.above {
		l := c.known.byKey[key]
		found = append(found, job.Lane{Key: key, Priority: priority, Turn: l.turn, Served: l.served})
	}
	return found, nil
}

// Costs returns the costs of due jobs of lanes.
func (c *Claim) Costs(of []job.Lane, want []int) ([][]int, error) {
	keys := make([]string, len(of))
	for i, l := range of {
		keys[i] = l.Key
	}
	return c.Rows.Costs(keys, want, of[0].Priority)
}

// byHeads reports whether jobs are taken from a lane by its heads.
func (c *Claim) byHeads(key string) bool { return key != "" && !c.inOrder(key) && !c.Kinds }

// Take takes due jobs of lanes. Jobs that are heads are taken together.
func (c *Claim) Take(of []job.Lane, want []int) ([]job.Taken, error) {
	c.changed = true
	got := make([]job.Taken, len(of))
	var at, wants []int
	var keys []string
	for i, l := range of {
		if want[i] > 0 && !c.byHeads(l.Key) {
			at, keys, wants = append(at, i), append(keys, l.Key), append(wants, want[i])
		}
	}
	if len(keys) > 0 {
		taken, err := c.Rows.TakeOf(keys, wants, of[0].Priority)
		if err != nil {
			return nil, err
		}
		for n, i := range at {
			got[i] = taken[n]
		}
	}
	for more := true; more; { // repeat it, since another process may have taken some of the jobs
		var err error
		if more, err = c.takeHeads(of, want, got); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// takeHeads takes heads of lanes, as many as are wanted with those that are already taken. It reports whether there may be more.
func (c *Claim) takeHeads(of []job.Lane, want []int, got []job.Taken) (bool, error) {
	known, at, wants := make([]*lane, 0, len(of)), make([]int, 0, len(of)), make([]int, 0, len(of))
	for i, l := range of {
		if n := want[i] - got[i].N; n > 0 && c.byHeads(l.Key) {
			known, at, wants = append(known, c.known.byKey[l.Key]), append(at, i), append(wants, n)
		}
	}
	if err := c.extend(known, of[0].Priority, wants); err != nil {
		return false, err
	}
	all := 0
	for n, k := range known {
		all += min(wants[n], len(k.heads))
	}
	wanted := make([]Wanted, 0, all)
	lanes := make([]int, 0, all) // of each
	for n, k := range known {
		most := min(wants[n], len(k.heads))
		if most == 0 {
			continue
		}
		for _, h := range k.heads[:most] {
			wanted, lanes = append(wanted, Wanted{k.key, h}), append(lanes, at[n])
		}
		k.used, k.unsaid, k.heads = k.heads[most-1], true, k.heads[most:]
	}
	if len(wanted) == 0 {
		return false, nil
	}
	taken, err := c.Rows.Take(of[0].Priority, wanted)
	if err != nil {
		return false, err
	}
	for n, w := range wanted {
		if cost, is := taken[w.Row]; is {
			got[lanes[n]].N++
			got[lanes[n]].Cost += cost
		} else {
			c.known.byKey[w.Key].unsure = true // another transaction may have locked it without taking it
		}
	}
	return len(taken) < len(wanted), nil
}

// Keep records the new state of lanes.
func (c *Claim) Keep(of []job.Lane) error {
	if err := c.refillDrained(of); err != nil {
		return err
	}
	var again []*lane
	var at []int // of these
	ended := make([]bool, len(of))
	if c.turns == nil {
		c.turns = make(map[string]turn, len(of))
	}
	for i := range of {
		l := &of[i]
		k := c.known.byKey[l.Key]
		if ended[i] = k.turn != l.Turn; ended[i] || k.served != l.Served {
			c.turns[l.Key] = turn{l.Turn, ended[i] || c.turns[l.Key].ended, l.Served}
			c.known.latest = l.Key
		}
		if k.turn, k.served = l.Turn, l.Served; c.above[l.Key] {
			l.Priority = k.priority
		}
		c.note(*l)
		d, sure := c.left(k)
		if !sure {
			again, at = append(again, k), append(at, i)
		} else if err := c.keepTaken(*l, k, d, ended[i]); err != nil {
			return err
		}
	}
	due, err := c.due(again)
	for n, k := range again {
		if err == nil {
			err = c.keepTaken(of[at[n]], k, due[n], ended[at[n]])
		}
	}
	return err
}

// refillDrained reads more heads of lanes that have none left, but other jobs behind them.
func (c *Claim) refillDrained(of []job.Lane) error {
	var drained []*lane
	for _, l := range of {
		k := c.known.byKey[l.Key]
		if c.byHeads(l.Key) && len(k.heads) == 0 && k.more && !k.unsure && k.used.Row != 0 && l.Open(c.Queue.Limits, c.At) {
			drained = append(drained, k)
		}
	}
	return c.refill(drained)
}

// keepTaken records the new state of a lane. If there are more lanes than are known, unknown ones have their turn before one whose turn has ended.
func (c *Claim) keepTaken(l job.Lane, k *lane, d Due, ended bool) error {
	if d == (Due{}) && k.unsaid {
		k.unsaid = false
		if err := c.Rows.Used(k.key, k.used, true); err != nil {
			return err
		}
	}
	if err := c.keep(l, k, d); err != nil {
		return err
	}
	if q := c.known; ended && q.searching && q.openLanes >= MostKnown && k.key != "" && k.place != nil {
		if err := c.used(k); err != nil {
			return err
		}
		q.forget(k)
		q.search()
	}
	return nil
}

// note records the state of a lane, for when the claim comes back to it.
func (c *Claim) note(l job.Lane) {
	if l.Key == "" {
		return
	}
	if _, is := c.lanes[l.Key]; !is {
		return // it has no limit
	}
	c.lanes[l.Key] = l
	if of := c.Queue.Limits.OfKey(l.Own); of.Starts.N > 0 || of.Units.N > 0 {
		c.moved[l.Key] = true
	}
}

// left returns the Due of a lane after jobs were taken from it, or might have been, and whether its heads suffice to know that.
func (c *Claim) left(k *lane) (d Due, sure bool) {
	switch {
	case !c.byHeads(k.key):
		return d, false
	case len(k.heads) > 0:
		d = Due{Priority: k.heads[0].Priority, Queued: true}
		if k.wake != 0 {
			d.Wake = time.UnixMicro(k.wake)
		}
		return d, true
	}
	return d, !k.more && !k.unsure
}
