package memory

import (
	"cmp"
	stdheap "container/heap"
	"container/list"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A lane has the unfinished jobs of a queue that have the same limit key, or none.
type lane struct {
	job.Lane                           // its Priority is 0 while none of its jobs may start
	ready    [job.HighestPriority]heap // queued jobs by priority, the lowest first
	ordered  ordered                   // the same jobs, of a lane with a key
	place    *list.Element             // among the open lanes of its priority
	wake     time.Time                 // when to check the lane again; zero for never
	index    int                       // in the heap of lanes to check; negative if not in it
	touched  bool
}

// lanes are the lanes of a queue.
type lanes struct {
	byKey   map[string]*lane
	open    [job.HighestPriority]list.List // of *lane, by Turn
	touched []*lane                        // lanes whose jobs have changed since the last claim, each once
	wakes   wakes
}

// lane returns the lane of a key, and creates it if it is new.
func (q *queue) lane(key string) *lane {
	l := q.lanes.byKey[key]
	if l == nil {
		l = &lane{Lane: job.Lane{Key: key, Own: q.overrides[key]}, index: -1}
		for i := range l.ready {
			l.ready[i].less = dueBefore
		}
		q.lanes.byKey[key] = l
	}
	q.lanes.touch(l)
	return l
}

func (ls *lanes) touch(l *lane) {
	if !l.touched {
		l.touched = true
		ls.touched = append(ls.touched, l)
	}
}

// ended records that a job of a lane has ended. An open lane stays open.
func (q *queue) ended(key string) {
	l := q.lanes.byKey[key]
	if l.Running--; l.Priority == 0 {
		q.lanes.touch(l)
	}
}

// refresh updates the lanes that have changed since the last claim, or because of the time.
func (q *queue) refresh(now time.Time) {
	for _, l := range q.lanes.touched {
		l.touched = false
		q.settleLane(l, now)
	}
	q.lanes.touched = q.lanes.touched[:0]
	for len(q.lanes.wakes) > 0 && !q.lanes.wakes[0].wake.After(now) {
		q.settleLane(q.lanes.wakes[0], now)
	}
}

// settleLane finds out whether a job of the lane may start. If that is new, the lane gets in line behind the others.
func (q *queue) settleLane(l *lane, now time.Time) {
	priority, wake, queued := l.due(now)
	if q.inOrder(l) {
		priority, wake = q.dueInOrder(l, now)
	}
	switch limits := q.Limits; {
	case priority > 0 && !l.Open(limits, now):
		priority = 0
		if next := l.Next(limits, now); next.After(now) {
			wake = next
		}
	case queued == 0 && l.Running == 0 && l.Idle().After(now):
		wake = l.Idle()
	case queued == 0 && l.Running == 0:
		delete(q.lanes.byKey, l.Key)
	}
	if priority != l.Priority {
		q.Turn++
		l.Turn, l.Served = q.Turn, 0
	}
	q.lanes.put(l, priority)
	q.lanes.setWake(l, wake)
}

// due returns the highest priority of a due job, the first time at which a job of another priority becomes due, and how many jobs
// are queued.
func (l *lane) due(now time.Time) (priority int, next time.Time, queued int) {
	for i := range l.ready {
		queued += l.ready[i].Len()
		switch e := l.ready[i].top(); {
		case e == nil:
		case !e.RunAt.After(now):
			priority = i + 1
		case next.IsZero() || e.RunAt.Before(next):
			next = e.RunAt
		}
	}
	return priority, next, queued
}

// inOrder reports whether the jobs of a lane run in order.
func (q *queue) inOrder(l *lane) bool { return l.Key != "" && q.Limits.EachKey.InOrder }

// dueInOrder is due for a lane in which only the first job may start.
func (q *queue) dueInOrder(l *lane, now time.Time) (priority int, next time.Time) {
	switch e := q.nextInOrder(l); {
	case e == nil:
	case !e.RunAt.After(now):
		priority = e.Priority
	default:
		next = e.RunAt
	}
	return priority, next
}

// put inserts a lane into the open lanes of a priority by its Turn, usually as the last.
func (ls *lanes) put(l *lane, priority int) {
	if l.place != nil {
		ls.open[l.Priority-1].Remove(l.place)
		l.place = nil
	}
	l.Priority = priority
	if priority == 0 {
		return
	}
	before := ls.open[priority-1].Back()
	for before != nil && before.Value.(*lane).Turn > l.Turn {
		before = before.Prev()
	}
	if before == nil {
		l.place = ls.open[priority-1].PushFront(l)
	} else {
		l.place = ls.open[priority-1].InsertAfter(l, before)
	}
}

func (ls *lanes) setWake(l *lane, wake time.Time) {
	if l.index >= 0 {
		stdheap.Remove(&ls.wakes, l.index)
	}
	if l.wake = wake; !wake.IsZero() {
		stdheap.Push(&ls.wakes, l)
	}
}

// A claiming is a claim from one queue. It implements job.Lanes.
type claiming struct {
	s     *Store
	q     *queue
	c     job.Claim
	now   time.Time
	taken []*entry
}

// claimDue claims up to n due jobs of a queue, and returns when to claim again; zero for never.
func (s *Store) claimDue(c job.Claim, q *queue, n int, now time.Time) (taken []*entry, next time.Duration, err error) {
	q.refresh(now)
	q.Running = q.running.Len()
	turns := &claiming{s: s, q: q, c: c, now: now}
	_, err = job.TakeTurns(turns, &q.LaneQueue, n, now)
	switch {
	case q.Left(now) == 0:
		next = q.Next(now).Sub(now)
	case len(q.lanes.wakes) > 0:
		next = q.lanes.wakes[0].wake.Sub(now)
	}
	return turns.taken, next, err
}

// Open returns lanes that have due jobs which may start.
func (t *claiming) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	var found []job.Lane
	for p := top; p > 0 && len(found) == 0; p-- {
		for above := p; above <= job.HighestPriority; above++ {
			for place := t.q.lanes.open[above-1].Front(); place != nil; place = place.Next() {
				l := place.Value.(*lane)
				if (p < top || l.Turn > after && l.Turn <= until) && (above == p || !t.q.inOrder(l) && l.hasDue(p, t.now)) {
					o := l.Lane
					o.Priority = p
					found = append(found, o)
				}
				if above == p && len(found) == n {
					break
				}
			}
			if t.c.Kinds == nil { // otherwise a lane may have no job of these kinds at the priority where it is open
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b job.Lane) int { return cmp.Compare(a.Turn, b.Turn) })
	return found[:min(n, len(found))], nil
}

func (l *lane) hasDue(priority int, now time.Time) bool {
	e := l.ready[priority-1].top()
	return e != nil && !e.RunAt.After(now)
}

// Costs returns the costs of due jobs of lanes.
func (t *claiming) Costs(open []job.Lane, want []int) ([][]int, error) {
	costs := make([][]int, len(open))
	for i, o := range open {
		l := t.q.lanes.byKey[o.Key]
		if t.q.inOrder(l) {
			if e := t.first(l, o.Priority); e != nil && want[i] > 0 {
				costs[i] = []int{e.Cost}
			}
			continue
		}
		h := &l.ready[o.Priority-1]
		var seen []*entry
		for e := h.top(); e != nil && len(costs[i]) < want[i] && !e.RunAt.After(t.now); e = h.top() {
			h.remove(e)
			if seen = append(seen, e); wants(t.c, e) {
				costs[i] = append(costs[i], e.Cost)
			}
		}
		for _, e := range seen {
			h.push(e)
		}
	}
	return costs, nil
}

// first returns the job that may be claimed from a lane in order, or nil.
func (t *claiming) first(l *lane, priority int) *entry {
	e := t.q.nextInOrder(l)
	if e == nil || e.Priority != priority || e.RunAt.After(t.now) || !wants(t.c, e) {
		return nil
	}
	return e
}

// Take claims due jobs of lanes.
func (t *claiming) Take(open []job.Lane, want []int) ([]job.Taken, error) {
	got := make([]job.Taken, len(open))
	for i, o := range open {
		l := t.q.lanes.byKey[o.Key]
		if t.q.inOrder(l) {
			if e := t.first(l, o.Priority); e != nil && want[i] > 0 {
				t.claimEntry(e, &got[i])
			}
			continue
		}
		h := &l.ready[o.Priority-1]
		var others []*entry // of kinds that the claim does not ask for
		for e := h.top(); e != nil && got[i].N < want[i] && !e.RunAt.After(t.now); e = h.top() {
			if !wants(t.c, e) {
				h.remove(e)
				others = append(others, e)
				continue
			}
			t.claimEntry(e, &got[i])
		}
		for _, e := range others {
			h.push(e)
		}
	}
	return got, nil
}

// claimEntry assigns a queued job to the worker.
func (t *claiming) claimEntry(e *entry, of *job.Taken) {
	of.N++
	of.Cost += e.Cost
	t.s.leave(e)
	e.CancelRequested = false
	t.s.hold(e, t.c, t.now)
	t.taken = append(t.taken, e)
}

// Keep stores the state of lanes after a claim.
func (t *claiming) Keep(served []job.Lane) error {
	for _, o := range served {
		l := t.q.lanes.byKey[o.Key]
		l.Full, l.Paid = o.Full, o.Paid
		l.Turn, l.Served = o.Turn, o.Served
		t.q.settleLane(l, t.now)
	}
	return nil
}

// wakes is a heap of lanes by when to check them again.
type wakes []*lane

// Len, Less, Swap, Push and Pop are for container/heap.
func (w wakes) Len() int           { return len(w) }
func (w wakes) Less(i, j int) bool { return w[i].wake.Before(w[j].wake) }
func (w wakes) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *wakes) Push(x any) {
	l := x.(*lane)
	l.index = len(*w)
	*w = append(*w, l)
}

func (w *wakes) Pop() any {
	last := len(*w) - 1
	l := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	l.index = -1
	return l
}
