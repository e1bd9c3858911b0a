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

// complete sets what the file says of lanes: their rates, the limits that they have of their own, and how many of their jobs run, where that may matter.
func (cl *claiming) complete(lanes []job.Lane) (err error) {
	if err := cl.readRates(lanes); err != nil {
		return err
	}
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

// readRates sets what rates and throttling say of lanes.
func (cl *claiming) readRates(lanes []job.Lane) error {
	if !cl.kept && len(cl.rates) == 0 {
		return nil
	}
	var keys []string
	at := make(map[string]*job.Lane, len(lanes))
	for i := range lanes {
		l := &lanes[i]
		if moved := cl.rates[l.Key]; moved != nil {
			l.Full, l.Paid, l.Held = moved.Full, moved.Paid, moved.Held
		} else if l.Key != "" && cl.kept {
			at[l.Key] = l
			keys = append(keys, l.Key)
		}
	}
	return cl.ofKeys(laneFindSome, keys, func(v []driver.Value) error {
		setRates(at[text(v[0])], v[1:])
		return nil
	})
}

// setRates sets what a row of meanwhile_lane says.
func setRates(l *job.Lane, v []driver.Value) {
	l.Full, l.Paid, l.Held = timeOf(v[0]), timeOf(v[1]), timeOf(v[2])
}

// lane reads a lane as the file has it, but for how many of its jobs run.
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

// moved notes that the rates of a lane have moved, if it has any.
func (cl *claiming) moved(l job.Lane) {
	if of := cl.q.lanes.Limits.OfKey(l.Own); l.Key != "" && (of.Starts.N > 0 || of.Units.N > 0) {
		cl.rates[l.Key] = &l
	}
}

// flush writes the rates that have moved, each once whatever the claim did.
func (cl *claiming) flush() error {
	const columns = 4
	args := []any{cl.q.id}
	for _, key := range slices.Sorted(maps.Keys(cl.rates)) {
		l := cl.rates[key]
		args = append(args, key, micro(l.Full), micro(l.Paid), micro(l.Idle()))
	}
	return lanePut.chunks(len(args)/columns, func(sql string, from, size int) error {
		args[from*columns] = cl.q.id // in the place of the last one that was written
		_, err := cl.exec(sql, args[from*columns:1+(from+size)*columns]...)
		return err
	})
}
