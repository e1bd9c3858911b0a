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
	if q.lanes.Limits.EachKey.InOrder {
		if _, err := t.exec(statement("lane_order")); err != nil {
			return nil, 0, err
		}
	}
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
	return cl.settleLanes(append(woken, plain...))
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
	var bounded []string // of which it matters how many run
	for i := range found {
		l := &found[i]
		if l.Own, err = cl.override(cl.q.id, cl.q.lanes, l.Key); err != nil {
			return nil, err
		}
		if of := cl.q.lanes.Limits.OfKey(l.Own); l.Key != "" && of.AtOnce() > 0 {
			bounded = append(bounded, l.Key)
		}
	}
	running := make(map[string]int, len(bounded))
	err = cl.ofKeys(laneRunningSome, bounded, func(v []driver.Value) error {
		running[text(v[0])] = int(integer(v[1]))
		return nil
	})
	for i := range found {
		found[i].Running = running[found[i].Key]
	}
	return found, err
}

var (
	laneRunningSome = repeated("lane_running_some")
	laneDueSome     = repeated("lane_due_some")
	laneTakeSome    = repeated("lane_take_some")
	lanePut         = repeated("lane_put")
	laneDrop        = repeated("lane_drop")
)

// ofKeys runs a statement that asks for several limit keys of the queue.
func (cl *claiming) ofKeys(of *many, keys []string, row func(v []driver.Value) error) error {
	return of.chunks(len(keys), func(sql string, from, size int) error {
		return cl.each(sql, cl.withKeys(keys[from:from+size]), row)
	})
}

func (cl *claiming) withKeys(keys []string) []any {
	args := append(make([]any, 0, 1+len(keys)), cl.q.id)
	for _, key := range keys {
		args = append(args, key)
	}
	return args
}

func (t *txn) laneRunning(queue int64, key string) (int, error) {
	row, err := one(t, statement("lane_running"), queue, key)
	if err != nil {
		return 0, err
	}
	return int(integer(row[0])), nil
}

// A keptLane is a lane with what is to be kept of it.
type keptLane struct {
	job.Lane
	hint job.LaneHint
}

// settleLanes finds out whether jobs of lanes may start, and writes the lanes. Of one that could not until now, jobs get in line behind the others.
func (cl *claiming) settleLanes(lanes []job.Lane) error {
	kept := make([]keptLane, len(lanes))
	due, err := cl.dueOf(lanes)
	for i, l := range lanes {
		kept[i] = keptLane{l, cl.hint(l, due[i])}
	}
	if err != nil {
		return err
	}
	return cl.keep(kept)
}

// keep writes lanes.
func (cl *claiming) keep(lanes []keptLane) error {
	var gone []string
	args := []any{cl.q.id}
	for _, l := range lanes {
		if l.hint.None {
			gone = append(gone, l.Key)
			continue
		}
		if l.hint.Priority != l.Priority {
			cl.q.lanes.Turn++
			l.Turn, l.Served = cl.q.lanes.Turn, 0
		}
		var wake any
		if !l.hint.Wake.IsZero() {
			wake = micro(l.hint.Wake)
		}
		args = append(args, l.Key, int64(l.hint.Priority), l.Turn, micro(l.Full), wake, micro(l.Paid), int64(l.Served))
	}
	const columns = 7
	err := lanePut.chunks(len(args)/columns, func(sql string, from, size int) error {
		args[from*columns] = cl.q.id // in the place of the last one that was written
		_, err := cl.exec(sql, args[from*columns:1+(from+size)*columns]...)
		return err
	})
	if err != nil {
		return err
	}
	return laneDrop.chunks(len(gone), func(sql string, from, size int) error {
		_, err := cl.exec(sql, cl.withKeys(gone[from:from+size])...)
		return err
	})
}

// hint returns what is to be kept of a lane.
func (cl *claiming) hint(l job.Lane, d laneDue) job.LaneHint {
	limits := cl.q.lanes.Limits
	switch {
	case d.priority > 0 && !l.Open(limits, cl.at):
		d.priority, d.wake = 0, time.Time{}
		if next := l.Next(limits, cl.at); next.After(cl.at) {
			d.wake = next
		}
	case !d.queued && l.Idle().After(cl.at):
		d.wake = l.Idle()
	case !d.queued:
		return job.LaneHint{None: true}
	}
	return job.LaneHint{Priority: d.priority, Wake: d.wake}
}

// A laneDue is the highest priority of a due job of a lane, the first time at which one of another priority becomes due, and whether any is queued.
type laneDue struct {
	priority int
	wake     time.Time
	queued   bool
}

// dueOf is due for several lanes.
func (cl *claiming) dueOf(lanes []job.Lane) ([]laneDue, error) {
	var keys []string
	for _, l := range lanes {
		if l.Key != "" && !cl.inOrder(l.Key) {
			keys = append(keys, l.Key)
		}
	}
	known := make(map[string]laneDue, len(keys))
	err := cl.ofKeys(laneDueSome, keys, func(v []driver.Value) error {
		switch key := text(v[0]); {
		case v[1] == nil:
			known[key] = laneDue{}
		case integer(v[2]) <= cl.now:
			known[key] = laneDue{priority: int(integer(v[1])), queued: true}
		}
		return nil
	})
	due := make([]laneDue, len(lanes))
	for i, l := range lanes {
		if err != nil {
			break
		}
		var ok bool
		if due[i], ok = known[l.Key]; !ok {
			due[i], err = cl.due(l.Key)
		}
	}
	return due, err
}

// due finds out what of a lane is due.
func (cl *claiming) due(key string) (d laneDue, err error) {
	if cl.inOrder(key) {
		d.priority, d.wake, d.queued, err = cl.dueInOrder(key)
		return d, err
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
			return laneDue{}, err
		}
		if row == nil {
			break
		}
		d.queued, p = true, integer(row[0])
		at := integer(row[1])
		if at <= cl.now {
			d.priority = int(p)
			break
		}
		if first == 0 || at < first {
			first = at
		}
	}
	if first != 0 {
		d.wake = timeOf(first)
	}
	return d, nil
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

// Take takes due jobs of lanes. Those of which one is taken, as they are where there are many, are asked together.
func (cl *claiming) Take(lanes []job.Lane, want []int) ([]job.Taken, error) {
	of := make([][]stored, len(lanes))
	some := map[string]int{} // the lanes of which one job is taken, by their keys
	var keys []string        // of these
	for i, l := range lanes {
		switch {
		case want[i] == 0:
		case l.Key != "" && !cl.inOrder(l.Key) && want[i] == 1 && l.Priority == lanes[0].Priority:
			some[l.Key] = i
			keys = append(keys, l.Key)
		default:
			var err error
			name, args := cl.which(l, want[i], "lane_take", "claim_due", "lane_take_first")
			if of[i], err = cl.readJobs(scanDue(int64(l.Priority)), statement(name), args...); err != nil {
				return nil, err
			}
		}
	}
	err := laneTakeSome.chunks(len(keys), func(sql string, from, size int) error {
		args := []any{cl.q.id, int64(lanes[0].Priority), cl.now, cl.q.classes}
		for _, key := range keys[from : from+size] {
			args = append(args, key)
		}
		found, err := cl.readJobs(scanDue(int64(lanes[0].Priority)), sql, args...)
		for _, j := range found {
			i := some[j.LimitKey]
			of[i] = append(of[i], j)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	got := make([]job.Taken, len(lanes))
	var all []stored
	for i, found := range of {
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
	lanes = slices.Clone(lanes)
	for i, l := range lanes {
		if above, is := cl.above[l.Key]; is {
			lanes[i].Priority = above
		}
	}
	return cl.settleLanes(lanes)
}
