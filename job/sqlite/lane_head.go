package sqlite

import (
	"database/sql/driver"
	"errors"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

var laneCleanAll = repeated("lane_clean_all")

// errEnough stops the reading of rows.
var errEnough = errors.New("enough rows")

func scanHead(v []driver.Value) lanes.Head {
	return lanes.Head{Priority: int(integer(v[0])), RunAt: integer(v[1]), ID: idOf(v[2]), Row: integer(v[3])}
}

// readHeads reads waiting jobs of a lane.
func (cl *claiming) readHeads(name string, args ...any) (heads []lanes.Head, err error) {
	return heads, cl.each(statement(name), args, func(v []driver.Value) error {
		heads = append(heads, scanHead(v))
		return nil
	})
}

// Heads returns the first waiting jobs of lanes.
func (cl *claiming) Heads(of []lanes.HeadsOf, n int) (found [][]lanes.Head, err error) {
	found = make([][]lanes.Head, len(of))
	for i, l := range of {
		if found[i], err = cl.readHeads("lane_heads", cl.q.id, l.Key, int64(l.Below), int64(n)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// More returns due jobs of lanes that come after given ones.
func (cl *claiming) More(of []lanes.MoreOf) (found [][]lanes.Head, err error) {
	found = make([][]lanes.Head, len(of))
	for i, l := range of {
		if found[i], err = cl.readHeads("lane_heads_more", cl.q.id, l.Key, int64(l.Priority), l.After.RunAt, l.After.ID[:], cl.now, int64(l.N)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Load returns the next lanes for the background search. It stops after a lane that has more jobs than are read of a lane: the rest is
// skipped.
func (cl *claiming) Load(after string, n, rowsOfLane int) (found []lanes.Loaded, err error) {
	err = cl.each(statement("lane_load"), []any{cl.q.id, after, int64(n * rowsOfLane)}, func(v []driver.Value) error {
		key := text(v[0])
		if len(found) == 0 || found[len(found)-1].Key != key {
			if len(found) == n {
				return errEnough
			}
			found = append(found, lanes.Loaded{Key: key})
		}
		l := &found[len(found)-1]
		if l.Heads = append(l.Heads, scanHead(v[1:])); len(l.Heads) == rowsOfLane {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

// Plain returns which jobs without a key are due.
func (cl *claiming) Plain() (d lanes.Due, err error) {
	for p := int64(job.HighestPriority + 1); ; {
		row, err := one(cl, statement("lane_due_plain"), cl.q.id, p)
		if err != nil || row == nil {
			return d, err
		}
		d.Queued, p = true, integer(row[0])
		if at := integer(row[1]); at > cl.now {
			d.Later(timeOf(at))
			continue
		}
		d.Priority = int(p)
		return d, nil
	}
}

// First returns which jobs are due in lanes whose jobs run in order.
func (cl *claiming) First(keys []string) (due []lanes.Due, err error) {
	due = make([]lanes.Due, len(keys))
	for i, key := range keys {
		if due[i], err = cl.first(key); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// first returns the due job of a lane in which only the first job may start.
func (cl *claiming) first(key string) (lanes.Due, error) {
	row, err := one(cl, statement("lane_first"), cl.q.id, key)
	if err != nil || row == nil {
		return lanes.Due{}, err
	}
	if cl.q.lanes.Limits.EachKey.HoldOnDiscard {
		if holder, err := one(cl, statement("lane_holder"), cl.q.id, key); err != nil || holder != nil {
			return lanes.Due{Queued: true}, err
		}
	}
	if at := integer(row[1]); at > cl.now {
		return lanes.Due{Wake: timeOf(at), Queued: true}, nil
	}
	return lanes.Due{Priority: int(integer(row[0])), Queued: true}, nil
}

// Used removes the entries of jobs that were claimed from a lane.
func (cl *claiming) Used(key string, upTo lanes.Head, all bool) error {
	if all {
		cl.drained = append(cl.drained, key)
		return nil
	}
	_, err := cl.exec(statement("lane_clean"), cl.q.id, key, int64(upTo.Priority), upTo.RunAt, upTo.ID[:])
	return err
}

// cleanAll removes the entries of lanes whose jobs were all claimed.
func (cl *claiming) cleanAll() error {
	keys := cl.drained
	cl.drained = nil
	return laneCleanAll.chunks(len(keys), func(sql string, from, size int) error {
		_, err := cl.exec(sql, cl.withKeys(keys[from:from+size])...)
		return err
	})
}
