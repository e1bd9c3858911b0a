package sqlite

import (
	"database/sql/driver"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

var (
	laneTake = repeated("lane_take")
	laneHas  = repeated("lane_has")
)

// Has returns those of the lanes that have a due job of a priority.
func (cl *claiming) Has(keys []string, priority int) (map[string]bool, error) {
	has := map[string]bool{}
	var keyed []string
	for _, key := range keys {
		if key != "" {
			keyed = append(keyed, key)
			continue
		}
		row, err := one(cl, statement("lane_has_plain"), cl.q.id, int64(priority), cl.now)
		if err != nil {
			return nil, err
		}
		if row != nil {
			has[key] = true
		}
	}
	return has, laneHas.chunks(len(keyed), func(sql string, from, size int) error {
		args := []any{cl.q.id, int64(priority), cl.now}
		for _, key := range keyed[from : from+size] {
			args = append(args, key)
		}
		return cl.each(sql, args, func(v []driver.Value) error {
			has[text(v[0])] = true
			return nil
		})
	})
}

// Costs returns the costs of due jobs of lanes.
func (cl *claiming) Costs(keys []string, want []int, priority int) ([][]int, error) {
	costs := make([][]int, len(keys))
	for i, key := range keys {
		if want[i] == 0 {
			continue
		}
		name, args := cl.which(key, priority, want[i], "lane_cost", "lane_cost_plain", "lane_cost_first")
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

// which returns the name of the statement for up to n jobs of a lane, depending on whether it has a key and runs in order, and
// its arguments.
func (cl *claiming) which(key string, priority, n int, keyed, plain, first string) (name string, args []any) {
	args = []any{cl.q.id, int64(priority), cl.now, cl.q.classes, int64(n), key}
	switch {
	case key == "":
		return plain, args[:5]
	case cl.q.lanes.Limits.EachKey.InOrder:
		return first, args
	}
	return keyed, args
}

// Take claims the jobs of the given heads that are still waiting.
func (cl *claiming) Take(priority int, wanted []lanes.Wanted) (map[int64]int, error) {
	seqs := make([]int64, len(wanted))
	for i, w := range wanted {
		seqs[i] = w.Row
	}
	waiting, err := cl.readWaiting(priority, seqs)
	if err != nil {
		return nil, err
	}
	costs := make(map[int64]int, len(wanted))
	taken := make([]stored, 0, len(wanted))
	for _, w := range wanted {
		if j, is := waiting[w.Row]; is && j.LimitKey == w.Key && j.RunAt.UnixMicro() == w.RunAt {
			costs[w.Row], taken = j.Cost, append(taken, j)
		}
	}
	cl.taken = append(cl.taken, taken...)
	return costs, cl.holdDue(cl.c, taken)
}

// readWaiting returns those of the jobs that are waiting in the queue with a priority, by the numbers of their rows.
func (cl *claiming) readWaiting(priority int, seqs []int64) (map[int64]stored, error) {
	found := make(map[int64]stored, len(seqs))
	scan := scanDue(int64(priority))
	row := func(v []driver.Value) error {
		if integer(v[len(v)-2]) != cl.q.id || integer(v[len(v)-1]) != int64(priority) {
			return nil
		}
		j, err := scan(cl.txn, v)
		found[j.seq] = j
		return err
	}
	return found, ranges(seqs, func(from, to int64) error {
		return cl.each(statement("lane_take_range"), []any{from, to}, row)
	}, func(seqs []int64) error {
		return laneTake.chunks(len(seqs), func(sql string, from, size int) error {
			args := make([]any, size)
			for i, seq := range seqs[from : from+size] {
				args[i] = seq
			}
			return cl.each(sql, args, row)
		})
	})
}

// TakeOf claims due jobs of lanes, in the order of each lane.
func (cl *claiming) TakeOf(keys []string, want []int, priority int) ([]job.Taken, error) {
	got := make([]job.Taken, len(keys))
	for i, key := range keys {
		taken, err := cl.takeOf(key, want[i], priority)
		if err != nil {
			return nil, err
		}
		for _, j := range taken {
			got[i].Cost += j.Cost
		}
		got[i].N = len(taken)
		cl.taken = append(cl.taken, taken...)
	}
	return got, nil
}

// takeOf claims up to n due jobs of a lane that has no heads, or none for the claimed kinds.
func (cl *claiming) takeOf(key string, n, priority int) ([]stored, error) {
	name, args := cl.which(key, priority, n, "lane_take_kinds", "claim_due", "lane_take_first")
	found, err := cl.readJobs(scanDue(int64(priority)), statement(name), args...)
	if err != nil {
		return nil, err
	}
	if key != "" {
		for _, j := range found {
			if _, err := cl.exec(statement("lane_clean_one"), cl.q.id, key, int64(j.Priority), j.RunAt.UnixMicro(), j.ID[:]); err != nil {
				return nil, err
			}
		}
	}
	return found, cl.holdDue(cl.c, found)
}
