package sqlite

import (
	"database/sql/driver"
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var laneCleanAll = repeated("lane_clean_all")

// errEnough ends the reading of rows.
var errEnough = errors.New("enough rows")

// A laneDue is the highest priority of a due job of a lane, the first time at which one of another priority becomes due, and whether any is queued.
type laneDue struct {
	priority int
	wake     time.Time
	queued   bool
}

// due finds out what of a lane is due, and reads its heads where it has a key and its jobs do not run in order.
func (cl *claiming) due(l *knownLane) (laneDue, error) {
	l.heads, l.more = nil, false
	switch {
	case l.key == "":
		return cl.duePlain()
	case cl.inOrder(l.key):
		return cl.dueInOrder(l.key)
	}
	if err := cl.clean(l); err != nil {
		return laneDue{}, err
	}
	var d laneDue
	for below := job.HighestPriority + 1; below > 0 && d.priority == 0; {
		first := head{}
		err := cl.each(statement("lane_heads"), []any{cl.q.id, l.key, int64(below), int64(mostHeads + 1)}, func(v []driver.Value) error {
			h := scanHead(v)
			switch {
			case first.priority == 0:
				first = h
			case h.priority != first.priority:
				l.more = true
				return nil
			}
			l.add(h, cl.now)
			return nil
		})
		if err != nil {
			return laneDue{}, err
		}
		switch below = first.priority; {
		case below == 0:
		case len(l.heads) > 0:
			d.priority = below
		default:
			d.later(first.runAt)
		}
		d.queued = d.queued || below > 0
	}
	return d, nil
}

// add adds a job that waits behind the heads to them, if it is due and they are not too many.
func (l *knownLane) add(h head, now int64) {
	if h.runAt > now || len(l.heads) >= mostHeads {
		l.more = true
		return
	}
	l.heads = append(l.heads, h)
}

// later notes when a job of another priority becomes due.
func (d *laneDue) later(at int64) {
	if d.wake.IsZero() || at < d.wake.UnixMicro() {
		d.wake = timeOf(at)
	}
}

func scanHead(v []driver.Value) head {
	return head{int(integer(v[0])), integer(v[1]), idOf(v[2]), integer(v[3])}
}

// duePlain is due for the jobs without a key.
func (cl *claiming) duePlain() (d laneDue, err error) {
	for p := int64(job.HighestPriority + 1); ; {
		row, err := one(cl, statement("lane_due_plain"), cl.q.id, p)
		if err != nil || row == nil {
			return d, err
		}
		d.queued, p = true, integer(row[0])
		if at := integer(row[1]); at > cl.now {
			d.later(at)
			continue
		}
		d.priority = int(p)
		return d, nil
	}
}

// inOrder reports whether the jobs of a lane run in order.
func (cl *claiming) inOrder(key string) bool { return key != "" && cl.q.lanes.Limits.EachKey.InOrder }

// dueInOrder is due for a lane of which only the first job may start.
func (cl *claiming) dueInOrder(key string) (laneDue, error) {
	row, err := one(cl, statement("lane_first"), cl.q.id, key)
	if err != nil || row == nil {
		return laneDue{}, err
	}
	if cl.q.lanes.Limits.EachKey.HoldOnDiscard {
		if holder, err := one(cl, statement("lane_holder"), cl.q.id, key); err != nil || holder != nil {
			return laneDue{queued: true}, err
		}
	}
	if at := integer(row[1]); at > cl.now {
		return laneDue{wake: timeOf(at), queued: true}, nil
	}
	return laneDue{priority: int(integer(row[0])), queued: true}, nil
}

// load goes on with the background search: it reads some of the lanes that are not known, for a claim of n jobs.
func (cl *claiming) load(n int) error {
	q := cl.known
	for left := rowsOfLane * max(n, leastLoaded); q.searching && left > 0 && q.openLanes < mostKnown; {
		rows, err := cl.loadSome(left)
		if err != nil {
			return err
		}
		if left -= rows; rows > 0 {
			continue
		}
		q.searching, q.after = q.forgotten, ""
		if q.forgotten = false; q.searching {
			return nil
		}
	}
	return nil
}

// loadSome reads up to n rows of lanes behind those that the search has read, and returns how many it has read, zero at the end.
func (cl *claiming) loadSome(n int) (int, error) {
	var found []*knownLane
	var first []head // of each
	rows, of, lanes := 0, 0, 0
	after := cl.known.after
	err := cl.each(statement("lane_load"), []any{cl.q.id, after, int64(n)}, func(v []driver.Value) error {
		rows++
		key := text(v[0])
		if lanes == 0 || key != after {
			if lanes == n/rowsOfLane {
				return errEnough
			}
			lanes++
			after, of = key, 0
			if cl.known.byKey[key] == nil {
				found = append(found, &knownLane{key: key})
				first = append(first, scanHead(v[1:]))
			}
		}
		if of++; of > mostHeads+1 {
			return errEnough // the others of this lane are passed over
		}
		if len(found) > 0 && found[len(found)-1].key == key {
			if l, h := found[len(found)-1], scanHead(v[1:]); h.priority == first[len(first)-1].priority {
				l.add(h, cl.now)
			} else {
				l.more = true
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return 0, err
	}
	if i := len(found) - 1; rows == n && i >= 0 && found[i].key == after {
		found[i].more = true // than was read
	}
	cl.known.after = after
	due := make([]laneDue, len(found))
	for i, l := range found {
		switch {
		case cl.inOrder(l.key) || len(l.heads) == 0:
			if due[i], err = cl.due(l); err != nil {
				return 0, err
			}
		default:
			due[i] = laneDue{priority: first[i].priority, queued: true}
		}
	}
	return rows, cl.settleLanes(found, due)
}

// extend reads more heads of a lane, of which so many are to be taken by a priority.
func (cl *claiming) extend(l *knownLane, priority, want int) error {
	if want <= len(l.heads) || !l.more {
		return nil
	}
	last, n := l.used, want-len(l.heads)
	if len(l.heads) > 0 {
		last = l.heads[len(l.heads)-1]
	}
	args := []any{cl.q.id, l.key, int64(priority), last.runAt, last.id[:], cl.now, int64(n)}
	return cl.each(statement("lane_heads_more"), args, func(v []driver.Value) error {
		l.heads = append(l.heads, scanHead(v))
		return nil
	})
}

// clean removes from the file what was taken of a lane.
func (cl *claiming) clean(l *knownLane) error {
	if l.used.seq == 0 {
		return nil
	}
	_, err := cl.exec(statement("lane_clean"), cl.q.id, l.key, int64(l.used.priority), l.used.runAt, l.used.id[:])
	l.used = head{}
	return err
}

// cleanAll removes from the file what was taken of lanes of which nothing is left.
func (cl *claiming) cleanAll() error {
	keys := cl.drained
	cl.drained = nil
	return laneCleanAll.chunks(len(keys), func(sql string, from, size int) error {
		_, err := cl.exec(sql, cl.withKeys(keys[from:from+size])...)
		return err
	})
}
