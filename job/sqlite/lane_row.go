package sqlite

import (
	"database/sql/driver"
	"maps"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

var (
	laneRunningSome = repeated("lane_running_some")
	laneFindSome    = repeated("lane_find_some")
	lanePut         = repeated("lane_put")
)

// Complete reads the stored state of lanes: their rates, the limits of their own, and, if needed, how many of their jobs are running.
func (cl *claiming) Complete(of []job.Lane, most int) (err error) {
	at, keys := make(map[string]*job.Lane, len(of)), make([]string, len(of))
	for i := range of {
		at[of[i].Key], keys[i] = &of[i], of[i].Key
	}
	if cl.kept {
		err = cl.ofKeys(laneFindSome, keys, func(v []driver.Value) error {
			setRates(at[text(v[0])], v[1:])
			return nil
		})
		if err != nil {
			return err
		}
	}
	var bounded []string
	for key, l := range at {
		if l.Own, err = cl.override(cl.q.id, cl.q.lanes, key); err != nil {
			return err
		}
		limits := cl.q.lanes.Limits.OfKey(l.Own)
		if atOnce := limits.AtOnce(); atOnce > 0 && atOnce <= most {
			bounded = append(bounded, key)
		}
	}
	return cl.ofKeys(laneRunningSome, bounded, func(v []driver.Value) error {
		at[text(v[0])].Running = int(integer(v[1]))
		return nil
	})
}

// setRates sets the fields of a row of meanwhile_lane.
func setRates(l *job.Lane, v []driver.Value) {
	l.Full, l.Paid, l.Held = timeOf(v[0]), timeOf(v[1]), timeOf(v[2])
}

// lane reads the stored state of a lane, except how many of its jobs are running.
func (t *txn) lane(queue int64, q *job.LaneQueue, key string) (job.Lane, error) {
	l := job.Lane{Key: key}
	row, err := one(t, statement("lane_find"), queue, key)
	if err != nil {
		return l, err
	}
	if row != nil {
		setRates(&l, row)
	}
	l.Own, err = t.override(queue, q, key)
	return l, err
}

// ofKeys runs a statement for several limit keys of the queue.
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

// keepRates writes the rates that have changed, each once.
func (cl *claiming) keepRates(moved map[string]job.Lane) error {
	const columns = 4
	args := []any{cl.q.id}
	for _, key := range slices.Sorted(maps.Keys(moved)) {
		l := moved[key]
		args = append(args, key, micro(l.Full), micro(l.Paid), micro(l.Idle()))
	}
	return lanePut.chunks(len(args)/columns, func(sql string, from, size int) error {
		args[from*columns] = cl.q.id // overwrites the last argument of the rows before
		_, err := cl.exec(sql, args[from*columns:1+(from+size)*columns]...)
		return err
	})
}
