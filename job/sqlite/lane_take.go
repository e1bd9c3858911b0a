package sqlite

import (
	"cmp"
	"database/sql/driver"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

var laneTakeSome = repeated("lane_take_some")

// Open returns lanes that have due jobs, and may start them.
func (cl *claiming) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	if cl.q.classes != nil {
		if err := cl.flush(); err != nil { // a lane may have had none of the kinds where it was open
			return nil, err
		}
	}
	for p := top; p > 0; p-- {
		if p < top {
			after, until = 0, cl.q.lanes.Turn
		}
		found, err := cl.open(p, after, until, n)
		if err != nil {
			return nil, err
		}
		if cl.q.classes != nil {
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

// open returns lanes that are open by a priority: up to n of those that have not been touched, and all others.
func (cl *claiming) open(priority int, after, until int64, n int) ([]job.Lane, error) {
	var found []job.Lane
	for from := after; len(found) < n; {
		rows, err := cl.read("lane_open", []any{cl.q.id, int64(priority), from, until, int64(n)})
		if err != nil {
			return nil, err
		}
		for _, l := range rows {
			from = l.Turn
			if cl.touched[l.Key] == nil {
				found = append(found, l)
			}
		}
		if len(rows) < n {
			break
		}
	}
	if err := cl.complete(found); err != nil {
		return nil, err
	}
	for _, l := range cl.touched {
		if l.Priority == priority && !l.hint.None && after < l.Turn && l.Turn <= until {
			found = append(found, l.Lane)
		}
	}
	return found, nil
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
			if of[i], err = cl.takeOf(l, want[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := cl.takeSome(keys, lanes[0].Priority, func(j stored) { of[some[j.LimitKey]] = []stored{j} }); err != nil {
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

// takeOf returns up to n due jobs of a lane, and notes where there are more.
func (cl *claiming) takeOf(l job.Lane, n int) ([]stored, error) {
	ask := n
	if cl.q.classes == nil && !cl.inOrder(l.Key) && !cl.waking[l.Key] {
		ask++
	}
	name, args := cl.which(l, ask, "lane_take", "claim_due", "lane_take_first")
	found, err := cl.readJobs(scanDue(int64(l.Priority)), statement(name), args...)
	if len(found) > n {
		found = found[:n]
		cl.rest[l.Key] = laneDue{priority: l.Priority, queued: true}
	}
	return found, err
}

// takeSome calls took with the first due job of each of several lanes, and notes what is left of them.
func (cl *claiming) takeSome(keys []string, priority int, took func(j stored)) error {
	scan := scanDue(int64(priority))
	return laneTakeSome.chunks(len(keys), func(sql string, from, size int) error {
		args := []any{cl.q.id, int64(priority), cl.now, cl.q.classes}
		for _, key := range keys[from : from+size] {
			args = append(args, key)
		}
		return cl.each(sql, args, func(v []driver.Value) error {
			j, err := scan(cl.txn, v)
			if err != nil {
				return err
			}
			switch rest := v[len(v)-1]; {
			case rest == int64(0):
				cl.rest[j.LimitKey] = laneDue{}
			case rest == int64(1) && !cl.waking[j.LimitKey]:
				cl.rest[j.LimitKey] = laneDue{priority: priority, queued: true}
			}
			took(j)
			return nil
		})
	})
}

// Keep notes what became of lanes.
func (cl *claiming) Keep(lanes []job.Lane) error {
	lanes = slices.Clone(lanes)
	for i, l := range lanes {
		if above, is := cl.above[l.Key]; is {
			lanes[i].Priority = above
		}
	}
	return cl.settleLanes(lanes)
}
