package inspect

import (
	"cmp"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

const (
	waitSlots    = 6 // per window: the oldest slot is dropped as a whole
	waitSlot     = 10 * time.Second
	maxWaitNames = 1000
	otherNames   = "other"

	maxNameStacks = 50  // per name; waits with further stacks are counted by their place,
	maxNameWaits  = 100 // and those at further places by what they wait for
)

// A waitCollector adds up the wait profile of a Watch from its snapshots. Its size is bounded: it has at most maxWaitNames names and one more,
// each with at most maxNameWaits waits and one for each kind of wait. Waits that no snapshot of the window has found are dropped.
type waitCollector struct {
	mu    sync.Mutex
	names map[string]*nameWaits
	last  time.Time // of the last snapshot
	begun time.Time // when the current slot began
	slots [waitSlots]waitSlotCount
	slot  int // the current slot
}

// A waitSlotCount has the counts of a slot that do not belong to a wait.
type waitSlotCount struct {
	covered, took time.Duration
	snapshots     int
}

type nameWaits struct {
	waits   map[waitKey]*waitTime
	dropped map[string]time.Duration // the total times of dropped waits, by kind
}

// A waitKey identifies a wait of a name. Its on contains no counts.
type waitKey struct {
	reason, on string
	calls      uint64 // a hash of the stack, or of the place; zero for neither
}

type waitTime struct {
	wait  Wait
	calls []*location
	slots [waitSlots]time.Duration
	total time.Duration // since the wait was first found
}

// waitCollectors has the collectors of the running Watches, in the order in which they started.
var waitCollectors struct {
	sync.Mutex
	open []*waitCollector
}

// newWaitCollector registers a new collector.
func newWaitCollector() *waitCollector {
	c := &waitCollector{names: make(map[string]*nameWaits)}
	waitCollectors.Lock()
	defer waitCollectors.Unlock()
	waitCollectors.open = append(waitCollectors.open, c)
	return c
}

func (c *waitCollector) close() {
	waitCollectors.Lock()
	defer waitCollectors.Unlock()
	waitCollectors.open = slices.DeleteFunc(waitCollectors.open, func(o *waitCollector) bool { return o == c })
}

// openWaitCollector returns the collector that was registered first, or nil.
func openWaitCollector() *waitCollector {
	waitCollectors.Lock()
	defer waitCollectors.Unlock()
	if len(waitCollectors.open) == 0 {
		return nil
	}
	return waitCollectors.open[0]
}

// add counts a snapshot with the time since the previous one. It leaves out the task with the number self. Only the collector that was
// registered first counts: the others are never read.
func (c *waitCollector) add(now time.Time, trees []Node, self uint32) {
	if openWaitCollector() != c {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.last
	c.last = now
	if before.IsZero() {
		c.begun = now
		return
	}
	elapsed := max(0, now.Sub(before))
	if elapsed > waitSlots*waitSlot { // the program was suspended: nothing is known about that time
		elapsed = waitSlots * waitSlot
		c.advance(now)
	}
	c.slots[c.slot].covered += elapsed
	c.slots[c.slot].snapshots++
	for i := range trees {
		c.count(&trees[i], elapsed, self)
	}
	c.advance(now) // afterwards, since that time is before the next slot
}

// spent records how long the snapshot that was added last took.
func (c *waitCollector) spent(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots[c.slot].took += d
}

// advance starts new slots if the current one is over.
func (c *waitCollector) advance(now time.Time) {
	over := int(now.Sub(c.begun) / waitSlot)
	if over <= 0 {
		return
	}
	c.begun = c.begun.Add(time.Duration(over) * waitSlot)
	for range min(over, waitSlots) {
		c.slot = (c.slot + 1) % waitSlots
		c.slots[c.slot] = waitSlotCount{}
		for name, n := range c.names {
			if n.clear(c.slot); len(n.waits) == 0 {
				delete(c.names, name)
			}
		}
	}
}

// clear clears a slot, and removes the waits that are in no other slot.
func (n *nameWaits) clear(slot int) {
	for key, t := range n.waits {
		if t.slots[slot] = 0; t.window() > 0 {
			continue
		}
		if n.dropped == nil {
			n.dropped = make(map[string]time.Duration)
		}
		n.dropped[key.reason] += t.total
		delete(n.waits, key)
	}
}

func (t *waitTime) window() (sum time.Duration) {
	for _, d := range t.slots {
		sum += d
	}
	return sum
}

// count counts a task and the tasks below it.
func (c *waitCollector) count(n *Node, elapsed time.Duration, self uint32) {
	if n.ID != self {
		t := c.named(n.namePath()).wait(n)
		t.slots[c.slot] += elapsed
		t.total += elapsed
	}
	for i := range n.Tasks {
		c.count(&n.Tasks[i], elapsed, self)
	}
}

func (n *Node) namePath() string {
	if n.call != nil {
		return scope.NamePath(n.call.Labels.Labels())
	}
	return scope.NamePath(n.n.Labels.Labels())
}

// named returns the waits of a name, or those of "other" if there are too many names.
func (c *waitCollector) named(name string) *nameWaits {
	n := c.names[name]
	if n == nil && len(c.names) >= maxWaitNames {
		name = otherNames
		n = c.names[name]
	}
	if n == nil {
		n = &nameWaits{waits: make(map[waitKey]*waitTime)}
		c.names[name] = n
	}
	return n
}

// wait returns the wait under which the time of a task is counted: by its stack, or by its place if there are too many stacks, or else only by
// what it waits for.
func (n *nameWaits) wait(task *Node) *waitTime {
	w := Wait{For: task.Wait.For, On: task.Wait.onWithoutCounts(), Call: task.Wait.Call, Func: task.Wait.Func, File: task.Wait.File, Line: task.Wait.Line}
	if task.stack != nil {
		if t := n.at(waitKey{w.For, w.On, task.stack.hash}, maxNameStacks, w, task.stack.calls); t != nil {
			return t
		}
	}
	if t := n.at(waitKey{w.For, w.On, maphash.Comparable(placeSeed, w)}, maxNameWaits, w, nil); t != nil {
		return t
	}
	return n.at(waitKey{reason: w.For}, math.MaxInt, Wait{For: w.For}, nil)
}

// at returns the wait with a key. If there is none, and fewer than most are known, it adds one.
func (n *nameWaits) at(key waitKey, most int, w Wait, calls []*location) *waitTime {
	t := n.waits[key]
	if t == nil && len(n.waits) < most {
		t = &waitTime{wait: w, calls: calls}
		n.waits[key] = t
	}
	return t
}

// onWithoutCounts returns the part of On that is the same for many waits.
func (w *Wait) onWithoutCounts() string {
	switch w.For {
	case "semaphore", "blocking":
		_, made, _ := strings.Cut(w.On, " held, ")
		made, _, _ = strings.Cut(made, takenBy)
		return made
	case "task", "stream", "full", "limit", "unknown":
		return ""
	case "source":
		if strings.HasPrefix(w.On, "task ") {
			return "task"
		}
	}
	return w.On
}

// profile returns what was collected up to the last snapshot.
func (c *waitCollector) profile() WaitProfile {
	c.mu.Lock()
	defer c.mu.Unlock()
	var p WaitProfile
	for _, s := range c.slots {
		p.Window += s.covered
		p.Took += s.took
		p.Snapshots += s.snapshots
	}
	for name, n := range c.names {
		p.Tasks = append(p.Tasks, n.summary(name))
	}
	slices.SortFunc(p.Tasks, func(a, b TaskWaits) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Name, b.Name))
	})
	return p
}

// summary adds up the waits of a name, and merges those with different stacks at one place.
func (n *nameWaits) summary(name string) TaskWaits {
	task := TaskWaits{Name: name, Totals: maps.Clone(n.dropped)}
	if task.Totals == nil {
		task.Totals = make(map[string]time.Duration)
	}
	shares := make(map[Wait]*WaitShare)
	for _, t := range n.waits {
		window := t.window()
		task.Time += window
		task.Totals[t.wait.For] += t.total
		s := shares[t.wait]
		if s == nil {
			s = &WaitShare{Wait: t.wait}
			shares[t.wait] = s
		}
		s.Time += window
		s.stacks = append(s.stacks, stackTime{t.calls, window})
	}
	for _, s := range shares {
		s.Share = float64(s.Time) / float64(max(1, task.Time))
		task.Waits = append(task.Waits, *s)
	}
	slices.SortFunc(task.Waits, func(a, b WaitShare) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Wait.String(), b.Wait.String()))
	})
	return task
}
