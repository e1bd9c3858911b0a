package lanes

import (
	"cmp"
	stdheap "container/heap"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// In each claim the background search reads as many lanes as jobs are claimed, but at least leastLoaded, and rowsOfLane waiting jobs of each.
const (
	leastLoaded = 400
	rowsOfLane  = mostHeads + 1
)

// searchPause is the delay from a claim that found nothing to the next one, while the background search waits for known lanes to be served.
const searchPause = 50 * time.Millisecond

// Rows is how a claim reads and writes the rows of a queue, while no other call claims from that queue. A store implements it.
type Rows interface {
	// Heads returns up to n waiting jobs of each lane with a priority lower than Below: the highest priority first, then by time and ID.
	Heads(of []HeadsOf, n int) ([][]Head, error)

	// More returns further due jobs of lanes with a given priority, after a given job, by time and ID.
	More(of []MoreOf) ([][]Head, error)

	// Load returns up to n lanes after a key, in the order of keys, each with its first rowsOfLane waiting jobs; none at the end.
	Load(after string, n, rowsOfLane int) ([]Loaded, error)

	// Plain returns the Due of the jobs without a key, and First that of lanes whose jobs run in order.
	Plain() (Due, error)
	First(keys []string) ([]Due, error)

	// Has returns which of the lanes, which may include "", have a due job of a priority.
	Has(keys []string, priority int) (map[string]bool, error)

	// Complete reads Full, Paid, Held, Own and Running of lanes. Running may be left zero if a lane may run as many jobs as the whole queue.
	Complete(lanes []job.Lane, most int) error

	// Take claims those of the wanted jobs that still wait in their lane with their priority, and returns their costs, by row.
	Take(priority int, wanted []Wanted) (map[int64]int, error)

	// TakeOf claims up to want[i] due jobs with a priority from the lane keys[i]: of the claimed kinds, and only the first one if they run in order.
	TakeOf(keys []string, want []int, priority int) ([]job.Taken, error)

	// Costs returns the costs of the jobs that Take and TakeOf would take.
	Costs(keys []string, want []int, priority int) ([][]int, error)

	// Used is called before the position of a lane is forgotten: its heads up to upTo were taken. If all is true, the lane has no jobs left.
	Used(key string, upTo Head, all bool) error
}

// HeadsOf says which heads of a lane to read.
type HeadsOf struct {
	Key   string
	Below int
}

// MoreOf says which further jobs of a lane to read.
type MoreOf struct {
	Key      string
	Priority int
	After    Head // zero for the first
	N        int
}

// Wanted is a job that was waiting when it was read.
type Wanted struct {
	Key string
	Head
}

// Loaded is a lane that the background search has read.
type Loaded struct {
	Key   string
	Heads []Head
}

// Due is the highest priority of a due job of a lane, the first time at which one of another priority becomes due, and whether any job is queued.
type Due struct {
	Priority int
	Wake     time.Time
	Queued   bool
}

// Later records that a job of another priority becomes due at a time. Wake is the earliest of these.
func (d *Due) Later(at time.Time) {
	if d.Wake.IsZero() || at.Before(d.Wake) {
		d.Wake = at
	}
}

// A Claim is a claim from a queue with lanes. It implements job.Lanes.
type Claim struct {
	Rows  Rows
	Queue *job.LaneQueue
	At    time.Time
	Most  int  // how many jobs of the queue may run after the claim; a higher bound has no effect
	Kept  bool // the store has state of rates or throttling of lanes
	Kinds bool // only jobs of some kinds are claimed

	known   *Queue
	changed bool                // what is known has changed
	lanes   map[string]job.Lane // their current state
	moved   map[string]bool     // lanes whose rates have changed
	turns   map[string]turn     // lanes that have started jobs
	above   map[string]bool     // lanes that are open with a higher priority than was asked for
}

// Use makes the claim use and update what is known of its queue.
func (c *Claim) Use(q *Queue) {
	c.known, c.lanes, c.moved = q, map[string]job.Lane{}, map[string]bool{}
	if inOrder := c.Queue.Limits.EachKey.InOrder; inOrder != q.inOrder {
		q.Renew()
		q.inOrder = inOrder
	}
	c.Queue.Turn = q.turn
}

// Run claims up to n jobs.
func (c *Claim) Run(n int) error {
	if err := c.refresh(n); err != nil {
		return err
	}
	if _, err := job.TakeTurns(c, c.Queue, n, c.At); err != nil {
		return err
	}
	return c.end()
}

// Changed reports whether the claim has changed what is known.
func (c *Claim) Changed() bool { return c.changed }

// Moved returns the lanes whose rates have changed, by key.
func (c *Claim) Moved() map[string]job.Lane {
	moved := make(map[string]job.Lane, len(c.moved))
	for key := range c.moved {
		moved[key] = c.lanes[key]
	}
	return moved
}

// A turn is how a claim has changed the turn of a lane.
type turn struct {
	at     int64 // its place in line
	ended  bool
	served int
}

// Turns calls leave for each change of turns that other processes must apply with [Queue.Turned] in the same order: first with the keys of lanes
// whose turns have ended, by their places in line, then with those of lanes that have started jobs in their turns. The mark is below zero.
func (c *Claim) Turns(leave func(keys []string, mark int) error) error {
	type place struct {
		key string
		at  int64
	}
	ended, served := make([]place, 0, len(c.turns)), map[int][]string{}
	for key, t := range c.turns {
		if t.ended {
			ended = append(ended, place{key, t.at})
		}
		if t.served > 0 {
			served[t.served] = append(served[t.served], key)
		}
	}
	slices.SortFunc(ended, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	if len(ended) > 0 {
		keys := make([]string, len(ended))
		for i, p := range ended {
			keys[i] = p.key
		}
		if err := leave(keys, turnsEnded); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(served)) {
		if err := leave(served[n], turnsEnded-n); err != nil {
			return err
		}
	}
	return nil
}

// Next returns after how long to claim again; zero is never.
func (c *Claim) Next() time.Duration {
	if c.Queue.Left(c.At) == 0 {
		return c.Queue.Next(c.At).Sub(c.At)
	}
	q, now := c.known, c.At.UnixMicro()
	next, at := time.Duration(0), q.again
	if len(q.wakes) > 0 && (at == 0 || q.wakes[0].wake < at) {
		at = q.wakes[0].wake
	}
	if at != 0 {
		next = max(time.Duration(at-now), 1) * time.Microsecond
	}
	switch {
	case !q.searching:
		return next
	case q.openLanes < MostKnown:
		return time.Microsecond
	case next == 0:
		return searchPause
	}
	return min(next, searchPause)
}

// refresh checks the lanes that have changed or whose time has come, and the jobs without a key, and continues the background search.
func (c *Claim) refresh(n int) error {
	q, now := c.known, c.At.UnixMicro()
	if q.again != 0 && q.again <= now {
		q.again = 0
		q.search()
	}
	for len(q.wakes) > 0 && q.wakes[0].wake <= now && len(q.changed) < mostWoken {
		l := stdheap.Pop(&q.wakes).(*lane)
		l.wake = 0
		q.change(l.key)
	}
	q.change("")
	c.changed = c.changed || len(q.changed) > 1
	found, due := make([]*lane, 0, len(q.changed)), make([]Due, 0, len(q.changed))
	var read []*lane
	for _, key := range q.changed {
		switch l := q.byKey[key]; {
		case l == nil:
			read = append(read, &lane{key: key})
		case l.full && !l.unsure: // one of its jobs has ended
			found, due = append(found, l), append(due, Due{Priority: l.heads[0].Priority, Queued: true})
		default:
			read = append(read, l)
		}
	}
	q.changed = q.changed[:0]
	clear(q.isChanged)
	more, err := c.due(read)
	if err != nil {
		return err
	}
	if err := c.noteDue(append(found, read...), append(due, more...)); err != nil {
		return err
	}
	return c.load(n)
}

// noteDue reads what limits allow to lanes, and records whether their jobs may start.
func (c *Claim) noteDue(found []*lane, due []Due) error {
	of := make([]job.Lane, len(found))
	for i, l := range found {
		of[i] = job.Lane{Key: l.key}
	}
	if err := c.complete(of); err != nil {
		return err
	}
	for i, l := range found {
		if err := c.keep(of[i], l, due[i]); err != nil {
			return err
		}
	}
	return nil
}

// complete fills in the state of lanes, from this claim if it knows them, else from the store.
func (c *Claim) complete(of []job.Lane) error {
	each := c.Queue.Limits.EachKey
	atOnce := each.AtOnce()
	if !c.Kept && c.Queue.Overrides == 0 && each.Starts.N == 0 && each.Units.N == 0 && (atOnce == 0 || atOnce > c.Most) {
		return nil
	}
	asked, at := make([]job.Lane, 0, len(of)), make([]int, 0, len(of))
	for i := range of {
		l := &of[i]
		if is, ok := c.lanes[l.Key]; ok {
			l.Full, l.Paid, l.Held, l.Own, l.Running = is.Full, is.Paid, is.Held, is.Own, is.Running
		} else if l.Key != "" {
			asked, at = append(asked, *l), append(at, i)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if err := c.Rows.Complete(asked, c.Most); err != nil {
		return err
	}
	for i, l := range asked {
		of[at[i]], c.lanes[l.Key] = l, l
	}
	return nil
}

// hint returns when jobs of a lane may start.
func (c *Claim) hint(l job.Lane, d Due) job.LaneHint {
	switch limits := c.Queue.Limits; {
	case d.Priority > 0 && !l.Open(limits, c.At):
		d.Priority, d.Wake = 0, time.Time{}
		if next := l.Next(limits, c.At); next.After(c.At) {
			d.Wake = next
		}
	case !d.Queued:
		return job.LaneHint{None: true}
	}
	return job.LaneHint{Priority: d.Priority, Wake: d.Wake}
}

// keep records the new state of a lane. A lane that could not start jobs of this priority until now gets in line behind the others.
func (c *Claim) keep(l job.Lane, k *lane, d Due) error {
	hint := c.hint(l, d)
	full := d.Priority > 0 && hint.Priority == 0 && hint.Wake.IsZero()
	c.known.AtCapacity = c.known.AtCapacity || full
	full = full && d.Wake.IsZero() && len(k.heads) > 0 && (k.full || c.known.fullLanes < MostKnown)
	if c.known.setFull(k, full); hint.Priority == 0 {
		if !full {
			k.heads = nil
		}
		if err := c.used(k); err != nil {
			return err
		}
	}
	if hint.Priority != k.priority {
		c.Queue.Turn++
		k.turn, k.served = c.Queue.Turn, 0
	}
	c.known.put(k, hint.Priority)
	wake := int64(0)
	if !hint.Wake.IsZero() {
		wake = hint.Wake.UnixMicro()
	}
	c.known.setWake(k, wake)
	if hint.Priority == 0 && wake == 0 && !full {
		delete(c.known.byKey, k.key)
	} else {
		c.known.byKey[k.key] = k
	}
	return nil
}

// used informs the store of which jobs were taken from a lane.
func (c *Claim) used(l *lane) error {
	if !l.unsaid {
		return nil
	}
	l.unsaid = false
	return c.Rows.Used(l.key, l.used, false)
}

// end forgets lanes if there are too many.
func (c *Claim) end() error {
	q := c.known
	q.turn = c.Queue.Turn
	for q.openLanes > MostKnown {
		l := q.last()
		if err := c.used(l); err != nil {
			return err
		}
		q.forget(l)
		q.search()
	}
	q.forgetLate()
	return nil
}
