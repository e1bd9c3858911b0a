package sqlite

import (
	stdheap "container/heap"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostWoken bounds how many lanes a claim looks at again that have changed, and of those whose time has come, so that none takes long. The next
// one goes on.
const mostWoken = 2000

// The background search reads in a claim as many lanes as jobs are claimed, or leastLoaded, and rowsOfLane times as many of their waiting jobs at most.
const (
	leastLoaded = 400
	rowsOfLane  = mostHeads + 1
)

// searchPause is how long a claim that found nothing waits for the next, while the background search waits for lanes that are known to be served.
const searchPause = 50 * time.Millisecond

// A claiming is a claim from a queue with lanes. It implements job.Lanes.
type claiming struct {
	*txn
	c       job.Claim
	q       *claimQueue
	known   *knownQueue
	at      time.Time
	most    int                  // jobs of the queue that may run when the claim has ended; a bound that is higher bounds nothing
	kept    bool                 // rates or throttling say something of lanes of the queue
	rates   map[string]*job.Lane // lanes whose rates have moved, by their keys, until flush writes them
	drained []string             // keys of which jobs were taken, and none is left
	above   map[string]bool      // lanes that are open by a higher priority than they were asked for by
	taken   []stored
}

func newClaiming(t *txn, c job.Claim, q *claimQueue) *claiming {
	return &claiming{txn: t, c: c, q: q, at: timeOf(t.now), rates: map[string]*job.Lane{}}
}

// claimLanes takes up to n due jobs of a queue with lanes, and returns when to claim again.
func (t *txn) claimLanes(c job.Claim, q *claimQueue, n int) ([]stored, time.Duration, error) {
	cl := newClaiming(t, c, q)
	cl.most = q.lanes.Running + n
	if q.lanes.Limits.EachKey.InOrder {
		if _, err := t.exec(statement("lane_order")); err != nil {
			return nil, 0, err
		}
	}
	if err := cl.begin(); err != nil {
		return nil, 0, err
	}
	full, paid := q.lanes.Full, q.lanes.Paid
	if err := cl.refresh(n); err != nil {
		return nil, 0, err
	}
	if _, err := job.TakeTurns(cl, q.lanes, n, cl.at); err != nil {
		return nil, 0, err
	}
	if err := cl.end(); err != nil {
		return nil, 0, err
	}
	if q.lanes.Full != full || q.lanes.Paid != paid {
		if _, err := t.exec(statement("lane_queue"), q.id, micro(q.lanes.Full), micro(q.lanes.Paid)); err != nil {
			return nil, 0, err
		}
	}
	return cl.taken, cl.next(), nil
}

// begin reads what has changed since the last claim.
func (cl *claiming) begin() (err error) {
	if cl.known, err = cl.knownQueue(cl.q.id); err != nil {
		return err
	}
	if inOrder := cl.q.lanes.Limits.EachKey.InOrder; inOrder != cl.known.inOrder {
		turn := cl.known.turn
		*cl.known = *newKnownQueue()
		cl.known.turn, cl.known.inOrder = turn, inOrder
	}
	cl.q.lanes.Turn = cl.known.turn
	if _, err = cl.exec(statement("lane_expire"), cl.q.id, cl.now, int64(mostWoken)); err != nil {
		return err
	}
	row, err := one(cl, statement("lane_any"), cl.q.id)
	cl.kept = row != nil
	return err
}

// refresh looks at the lanes that have changed, or whose time has come, and at that of the jobs without a key, and goes on with the background search.
func (cl *claiming) refresh(n int) error {
	q := cl.known
	if q.again != 0 && q.again <= cl.now {
		q.again = 0
		q.search()
	}
	for len(q.wakes) > 0 && q.wakes[0].wake <= cl.now && len(q.changed) < mostWoken {
		l := stdheap.Pop(&q.wakes).(*knownLane)
		l.wake = 0
		q.change(l.key)
	}
	q.change("")
	lanes, due := make([]*knownLane, len(q.changed)), make([]laneDue, len(q.changed))
	for i, key := range q.changed {
		if lanes[i] = q.byKey[key]; lanes[i] == nil {
			lanes[i] = &knownLane{key: key}
		}
		var err error
		if due[i], err = cl.due(lanes[i]); err != nil {
			return err
		}
	}
	q.changed = q.changed[:0]
	clear(q.isChanged)
	if err := cl.settleLanes(lanes, due); err != nil {
		return err
	}
	return cl.load(n)
}

// settleLanes finds out whether jobs of lanes may start, and notes that.
func (cl *claiming) settleLanes(found []*knownLane, due []laneDue) error {
	lanes := make([]job.Lane, len(found))
	for i, l := range found {
		lanes[i] = job.Lane{Key: l.key}
	}
	if err := cl.complete(lanes); err != nil {
		return err
	}
	for i, l := range found {
		if err := cl.keep(lanes[i], l, due[i]); err != nil {
			return err
		}
	}
	return nil
}

// hint returns when jobs of a lane may start.
func (cl *claiming) hint(l job.Lane, d laneDue) job.LaneHint {
	switch limits := cl.q.lanes.Limits; {
	case d.priority > 0 && !l.Open(limits, cl.at):
		d.priority, d.wake = 0, time.Time{}
		if next := l.Next(limits, cl.at); next.After(cl.at) {
			d.wake = next
		}
	case !d.queued:
		return job.LaneHint{None: true}
	}
	return job.LaneHint{Priority: d.priority, Wake: d.wake}
}

// keep notes what is known of a lane. Of one that could not start jobs by this priority until now, they get in line behind the others.
func (cl *claiming) keep(l job.Lane, k *knownLane, d laneDue) error {
	hint := cl.hint(l, d)
	if d.priority > 0 && hint.Priority == 0 && hint.Wake.IsZero() && !cl.known.atCapacity {
		cl.known.atCapacity = true
		if _, err := cl.exec(statement("lane_at_capacity"), cl.q.id); err != nil {
			return err
		}
	}
	if hint.Priority == 0 {
		k.heads = nil
		if err := cl.clean(k); err != nil {
			return err
		}
	}
	if hint.Priority != k.priority {
		cl.q.lanes.Turn++
		k.turn, k.served = cl.q.lanes.Turn, 0
	}
	cl.known.put(k, hint.Priority)
	cl.known.setWake(k, micro(hint.Wake))
	if hint.Priority == 0 && hint.Wake.IsZero() {
		delete(cl.known.byKey, k.key)
	} else {
		cl.known.byKey[k.key] = k
	}
	return nil
}

// end writes what the claim has kept until now, and forgets lanes that are too many.
func (cl *claiming) end() error {
	q := cl.known
	q.turn = cl.q.lanes.Turn
	for q.openLanes > mostKnown {
		l := q.last()
		if err := cl.clean(l); err != nil {
			return err
		}
		q.forget(l)
		q.search()
	}
	q.forgetLate()
	if err := cl.cleanAll(); err != nil {
		return err
	}
	if err := cl.flush(); err != nil {
		return err
	}
	return cl.pruneChanges()
}

// next returns when to claim again; zero for never.
func (cl *claiming) next() time.Duration {
	if cl.q.lanes.Left(cl.at) == 0 {
		return cl.q.lanes.Next(cl.at).Sub(cl.at)
	}
	q := cl.known
	next, at := time.Duration(0), q.again
	if len(q.wakes) > 0 && (at == 0 || q.wakes[0].wake < at) {
		at = q.wakes[0].wake
	}
	if at != 0 {
		next = max(time.Duration(at-cl.now), 1) * time.Microsecond
	}
	switch {
	case !q.searching:
		return next
	case q.openLanes < mostKnown:
		return time.Microsecond
	case next == 0:
		return searchPause
	}
	return min(next, searchPause)
}
