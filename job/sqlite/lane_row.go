package sqlite

import (
	"database/sql/driver"
	"maps"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

var (
	laneRunningSome = repeated("lane_running_some")
	lanePut         = repeated("lane_put")
	laneDrop        = repeated("lane_drop")
)

// lanes reads lanes as the claim sees them, but for those that it has touched.
func (cl *claiming) lanes(name string, args ...any) ([]job.Lane, error) {
	found, err := cl.read(name, args)
	if err != nil {
		return nil, err
	}
	return found, cl.complete(found)
}

// read reads lanes, of which complete finds out what is not in their rows.
func (cl *claiming) read(name string, args []any) (found []job.Lane, err error) {
	err = cl.each(statement(name), args, func(v []driver.Value) error {
		l := job.Lane{
			Key: text(v[0]), Priority: int(integer(v[1])), Turn: integer(v[2]), Full: timeOf(v[3]), Held: timeOf(v[4]), Paid: timeOf(v[5]),
			Served: int(integer(v[6])),
		}
		if v[7] != nil {
			cl.waking[l.Key] = true
		}
		found = append(found, l)
		return nil
	})
	return found, err
}

// complete sets the limits that lanes have of their own, and how many of their jobs run, where that may matter.
func (cl *claiming) complete(lanes []job.Lane) (err error) {
	var bounded []string
	for i := range lanes {
		l := &lanes[i]
		if l.Own, err = cl.override(cl.q.id, cl.q.lanes, l.Key); err != nil {
			return err
		}
		of := cl.q.lanes.Limits.OfKey(l.Own)
		if atOnce := of.AtOnce(); l.Key != "" && atOnce > 0 && atOnce <= cl.most {
			bounded = append(bounded, l.Key)
		}
	}
	running := make(map[string]int, len(bounded))
	err = cl.ofKeys(laneRunningSome, bounded, func(v []driver.Value) error {
		running[text(v[0])] = int(integer(v[1]))
		return nil
	})
	for i := range lanes {
		lanes[i].Running = running[lanes[i].Key]
	}
	return err
}

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

// keep notes what is to be kept of a lane. Of one that could not start jobs by this priority until now, they get in line behind the others.
func (cl *claiming) keep(l job.Lane, hint job.LaneHint) {
	if !hint.None && hint.Priority != l.Priority {
		cl.q.lanes.Turn++
		l.Priority, l.Turn, l.Served = hint.Priority, cl.q.lanes.Turn, 0
	}
	cl.touched[l.Key], cl.waking[l.Key] = &keptLane{l, hint}, !hint.Wake.IsZero()
}

// flush writes the lanes that were touched, each once whatever the claim did.
func (cl *claiming) flush() error {
	var gone []string
	args := []any{cl.q.id}
	for _, key := range slices.Sorted(maps.Keys(cl.touched)) {
		l := cl.touched[key]
		if l.hint.None {
			gone = append(gone, key)
			continue
		}
		var wake any
		if !l.hint.Wake.IsZero() {
			wake = micro(l.hint.Wake)
		}
		args = append(args, key, int64(l.hint.Priority), l.Turn, micro(l.Full), wake, micro(l.Paid), int64(l.Served))
	}
	clear(cl.touched)
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
