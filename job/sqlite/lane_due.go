package sqlite

import (
	"database/sql/driver"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var laneDueSome = repeated("lane_due_some")

// A laneDue is the highest priority of a due job of a lane, the first time at which one of another priority becomes due, and whether any is queued.
type laneDue struct {
	priority int
	wake     time.Time
	queued   bool
}

// settleLanes finds out whether jobs of lanes may start, and keeps that.
func (cl *claiming) settleLanes(lanes []job.Lane) error {
	due, err := cl.dueOf(lanes)
	if err != nil {
		return err
	}
	for i, l := range lanes {
		cl.keep(l, cl.hint(l, due[i]))
	}
	return nil
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

// dueOf is due for several lanes.
func (cl *claiming) dueOf(lanes []job.Lane) ([]laneDue, error) {
	var keys []string
	known := make(map[string]laneDue, len(lanes))
	for _, l := range lanes {
		if d, ok := cl.rest[l.Key]; ok {
			known[l.Key] = d
		} else if l.Key != "" && !cl.inOrder(l.Key) {
			keys = append(keys, l.Key)
		}
	}
	clear(cl.rest)
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
