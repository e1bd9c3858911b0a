package sqlite

import (
	"cmp"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostWoken bounds how many lanes a claim looks at again, so that none takes long. The next one goes on.
const mostWoken = 2000

// limited are the queues that had limits when this process looked last: where one of their jobs ends, others may start.
type limited struct {
	mu     sync.Mutex
	queues map[string]bool
}

func (l *limited) set(queue string, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues == nil {
		l.queues = map[string]bool{}
	}
	if l.queues[queue] = on; !on {
		delete(l.queues, queue)
	}
}

func (l *limited) has(queue string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queues[queue]
}

// laneQueue reads what queue_find found, and returns nil for a queue that has neither limits nor jobs with limit keys, and is not throttled.
func (t *txn) laneQueue(name string, row []driver.Value) (*job.LaneQueue, error) {
	limited := row[2] != nil || integer(row[8]) > 0
	t.store.limited.set(name, limited)
	if !limited && integer(row[5]) == 0 && integer(row[6]) <= t.now {
		return nil, nil
	}
	return t.keptQueue(name, row)
}

// keptQueue reads what queue_find found of any queue.
func (t *txn) keptQueue(name string, row []driver.Value) (*job.LaneQueue, error) {
	q := &job.LaneQueue{Turn: integer(row[3]), Full: timeOf(row[4]), Held: timeOf(row[6]), Paid: timeOf(row[7]), Overrides: int(integer(row[8]))}
	if row[2] != nil {
		if err := json.Unmarshal([]byte(text(row[2])), &q.Limits); err != nil {
			return nil, fmt.Errorf("limits of queue %s: %w", name, err)
		}
	}
	if err := t.writeCounts(); err != nil {
		return nil, err
	}
	running, err := one(t, statement("lane_queue_running"), integer(row[0]))
	if err != nil {
		return nil, err
	}
	q.Running = int(integer(running[0]))
	return q, nil
}

// A claiming is a claim from a queue with lanes. It implements job.Lanes.
type claiming struct {
	*txn
	c     job.Claim
	q     *claimQueue
	at    time.Time
	above map[string]int // lanes that were open by a higher priority than jobs were taken of, and that priority
	taken []stored
}

// claimLanes takes up to n due jobs of a queue with lanes, and returns when to claim again.
func (t *txn) claimLanes(c job.Claim, q *claimQueue, n int) ([]stored, time.Duration, error) {
	cl := &claiming{txn: t, c: c, q: q, at: timeOf(t.now)}
	if err := cl.refresh(); err != nil {
		return nil, 0, err
	}
	if _, err := job.TakeTurns(cl, q.lanes, n, cl.at); err != nil {
		return nil, 0, err
	}
	if _, err := t.exec(statement("lane_queue"), q.id, q.lanes.Turn, micro(q.lanes.Full), micro(q.lanes.Paid)); err != nil {
		return nil, 0, err
	}
	next, err := cl.next()
	return cl.taken, next, err
}

// refresh brings the lanes up to date that have changed, or whose time has come, and that of the jobs without a key.
func (cl *claiming) refresh() error {
	woken, err := cl.lanes("lane_wake", cl.q.id, cl.now, int64(mostWoken))
	if err != nil {
		return err
	}
	plain, err := cl.lanes("lane_find", cl.q.id, "")
	if err != nil {
		return err
	}
	if len(plain) == 0 {
		plain = []job.Lane{{}}
	}
	for _, l := range append(woken, plain...) {
		if err := cl.settleLane(l); err != nil {
			return err
		}
	}
	return nil
}

// lanes reads lanes.
func (cl *claiming) lanes(name string, args ...any) ([]job.Lane, error) {
	var found []job.Lane
	err := cl.each(statement(name), args, func(v []driver.Value) error {
		found = append(found, job.Lane{
			Key: text(v[0]), Priority: int(integer(v[1])), Turn: integer(v[2]), Full: timeOf(v[3]), Held: timeOf(v[4]), Paid: timeOf(v[5]),
			Served: int(integer(v[6])),
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		l := &found[i]
		if l.Own, err = cl.override(cl.q.id, cl.q.lanes, l.Key); err != nil {
			return nil, err
		}
		if of := cl.q.lanes.Limits.OfKey(l.Own); l.Key != "" && of.AtOnce() > 0 {
			if l.Running, err = cl.laneRunning(cl.q.id, l.Key); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (t *txn) laneRunning(queue int64, key string) (int, error) {
	row, err := one(t, statement("lane_running"), queue, key)
	if err != nil {
		return 0, err
	}
	return int(integer(row[0])), nil
}

// settleLane finds out whether a job of a lane may start, and writes the lane. One that could not until now gets in line behind the others.
func (cl *claiming) settleLane(l job.Lane) error {
	hint, err := cl.hint(l)
	if err != nil {
		return err
	}
	return cl.keep(l, hint)
}

// keep writes a lane.
func (cl *claiming) keep(l job.Lane, hint job.LaneHint) error {
	if hint.None {
		_, err := cl.exec(statement("lane_drop"), cl.q.id, l.Key)
		return err
	}
	if hint.Priority != l.Priority {
		cl.q.lanes.Turn++
		l.Turn, l.Served = cl.q.lanes.Turn, 0
	}
	var wake any
	if !hint.Wake.IsZero() {
		wake = micro(hint.Wake)
	}
	_, err := cl.exec(statement("lane_put"), cl.q.id, l.Key, int64(hint.Priority), l.Turn, micro(l.Full), wake, micro(l.Paid), int64(l.Served))
	return err
}

// hint returns what is to be kept of a lane.
func (cl *claiming) hint(l job.Lane) (job.LaneHint, error) {
	priority, wake, queued, err := cl.due(l.Key)
	if err != nil {
		return job.LaneHint{}, err
	}
	limits := cl.q.lanes.Limits
	switch {
	case priority > 0 && !l.Open(limits, cl.at):
		priority, wake = 0, time.Time{}
		if next := l.Next(limits, cl.at); next.After(cl.at) {
			wake = next
		}
	case !queued && l.Idle().After(cl.at):
		wake = l.Idle()
	case !queued:
		return job.LaneHint{None: true}, nil
	}
	return job.LaneHint{Priority: priority, Wake: wake}, nil
}

// due returns the highest priority of a due job of a lane, the first time at which one of another priority becomes due, and whether any
// is queued.
func (cl *claiming) due(key string) (priority int, wake time.Time, queued bool, err error) {
	if cl.inOrder(key) {
		return cl.dueInOrder(key)
	}
	name, args := "lane_due", []any{cl.q.id, key, int64(0)}
	if key == "" {
		name, args = "lane_due_plain", []any{cl.q.id, int64(0)}
	}
	first := int64(0)
	for p := int64(job.HighestPriority + 1); ; {
		args[len(args)-1] = p
		row, err := one(cl, statement(name), args...)
		if err != nil {
			return 0, wake, false, err
		}
		if row == nil {
			break
		}
		queued, p = true, integer(row[0])
		at := integer(row[1])
		if at <= cl.now {
			priority = int(p)
			break
		}
		if first == 0 || at < first {
			first = at
		}
	}
	if first != 0 {
		wake = timeOf(first)
	}
	return priority, wake, queued, nil
}

// inOrder reports whether the jobs of a lane run in order.
func (cl *claiming) inOrder(key string) bool { return key != "" && cl.q.lanes.Limits.EachKey.InOrder }

// dueInOrder is due for a lane of which only the first job may start.
func (cl *claiming) dueInOrder(key string) (priority int, wake time.Time, queued bool, err error) {
	row, err := one(cl, statement("lane_first"), cl.q.id, key)
	if err != nil || row == nil {
		return 0, wake, false, err
	}
	if cl.q.lanes.Limits.EachKey.HoldOnDiscard {
		if holder, err := one(cl, statement("lane_holder"), cl.q.id, key); err != nil || holder != nil {
			return 0, wake, true, err
		}
	}
	if at := integer(row[1]); at > cl.now {
		return 0, timeOf(at), true, nil
	}
	return int(integer(row[0])), wake, true, nil
}

// next returns when to claim again; zero for never.
func (cl *claiming) next() (time.Duration, error) {
	if cl.q.lanes.Left(cl.at) == 0 {
		return cl.q.lanes.Next(cl.at).Sub(cl.at), nil
	}
	row, err := one(cl, statement("lane_next"), cl.q.id)
	if err != nil || row == nil {
		return 0, err
	}
	return max(time.Duration(integer(row[0])-cl.now), 1) * time.Microsecond, nil
}

// Open returns lanes that have due jobs, and may start them.
func (cl *claiming) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	for p := top; p > 0; p-- {
		if p < top {
			after, until = 0, cl.q.lanes.Turn
		}
		found, err := cl.lanes("lane_open", cl.q.id, int64(p), after, until, int64(n))
		if err != nil {
			return nil, err
		}
		if cl.q.classes != nil { // a lane may have had none of the kinds where it was open
			above, err := cl.lanes("lane_above", cl.q.id, int64(p), after, until, int64(n), cl.now, flag(cl.q.lanes.Limits.EachKey.InOrder))
			if err != nil {
				return nil, err
			}
			cl.above = map[string]int{}
			for _, l := range above {
				cl.above[l.Key], l.Priority = l.Priority, p
				found = append(found, l)
			}
		}
		if len(found) > 0 {
			slices.SortFunc(found, func(a, b job.Lane) int { return cmp.Compare(a.Turn, b.Turn) })
			return found[:min(len(found), n)], nil
		}
	}
	return nil, nil
}

// Costs returns what due jobs of lanes cost.
func (cl *claiming) Costs(lanes []job.Lane, want []int) ([][]int, error) {
	costs := make([][]int, len(lanes))
	for i, l := range lanes {
		if want[i] == 0 {
			continue
		}
		name, args := cl.which(l, want[i], "lane_cost", "lane_cost_plain", "lane_cost_first")
		err := cl.each(statement(name), args, func(v []driver.Value) error {
			costs[i] = append(costs[i], int(integer(v[0])))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// which returns the statement for up to n jobs of a lane, by whether it has a key and is in order, and its arguments.
func (cl *claiming) which(l job.Lane, n int, keyed, plain, first string) (name string, args []any) {
	args = []any{cl.q.id, int64(l.Priority), cl.now, cl.q.classes, int64(n), l.Key}
	switch {
	case l.Key == "":
		return plain, args[:5]
	case cl.inOrder(l.Key):
		return first, args
	}
	return keyed, args
}

// Take takes due jobs of lanes.
func (cl *claiming) Take(lanes []job.Lane, want []int) ([]job.Taken, error) {
	got := make([]job.Taken, len(lanes))
	var all []stored
	for i, l := range lanes {
		if want[i] == 0 {
			continue
		}
		name, args := cl.which(l, want[i], "lane_take", "claim_due", "lane_take_first")
		found, err := cl.readJobs(scanDue(int64(l.Priority)), statement(name), args...)
		if err != nil {
			return nil, err
		}
		for _, j := range found {
			got[i].Cost += j.Cost
		}
		got[i].N = len(found)
		all = append(all, found...)
	}
	cl.taken = append(cl.taken, all...)
	return got, cl.holdDue(cl.c, all)
}

// Keep writes what became of lanes.
func (cl *claiming) Keep(lanes []job.Lane) error {
	for _, l := range lanes {
		if above, is := cl.above[l.Key]; is {
			l.Priority = above
		}
		if err := cl.settleLane(l); err != nil {
			return err
		}
	}
	return nil
}
