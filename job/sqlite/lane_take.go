package sqlite

import (
	"cmp"
	"database/sql/driver"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

var (
	laneTake = repeated("lane_take")
	laneHas  = repeated("lane_has")
)

// Open returns lanes that have due jobs, and may start them.
func (cl *claiming) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	for p := top; p > 0; p-- {
		if p < top {
			after, until = 0, cl.q.lanes.Turn
		}
		found := cl.openBy(p, after, until, n)
		if cl.q.classes != nil { // a lane may have had none of the kinds where it was open
			above, err := cl.openAbove(p, after, until)
			if err != nil {
				return nil, err
			}
			found = append(found, above...)
			slices.SortFunc(found, func(a, b job.Lane) int { return cmp.Compare(a.Turn, b.Turn) })
			found = found[:min(len(found), n)]
		}
		if len(found) > 0 {
			return found, cl.complete(found)
		}
	}
	return nil, nil
}

// openBy returns up to n lanes that are open by a priority.
func (cl *claiming) openBy(priority int, after, until int64, n int) (found []job.Lane) {
	for place := cl.known.open[priority-1].Front(); place != nil && len(found) < n; place = place.Next() {
		if l := place.Value.(*knownLane); after < l.turn && l.turn <= until {
			found = append(found, job.Lane{Key: l.key, Priority: priority, Turn: l.turn, Served: l.served})
		}
	}
	return found
}

// openAbove returns lanes that are open by a higher priority, and have a due job of this one.
func (cl *claiming) openAbove(priority int, after, until int64) (found []job.Lane, err error) {
	cl.above = map[string]bool{}
	var keys []string
	for above := priority + 1; above <= job.HighestPriority; above++ {
		for _, l := range cl.openBy(above, after, until, cl.known.openLanes) {
			if l.Key != "" && !cl.inOrder(l.Key) {
				keys = append(keys, l.Key)
			} else if l.Key == "" {
				row, err := one(cl, statement("lane_has_plain"), cl.q.id, int64(priority), cl.now)
				if err != nil {
					return nil, err
				}
				cl.above[""] = row != nil
			}
		}
	}
	err = laneHas.chunks(len(keys), func(sql string, from, size int) error {
		args := []any{cl.q.id, int64(priority), cl.now}
		for _, key := range keys[from : from+size] {
			args = append(args, key)
		}
		return cl.each(sql, args, func(v []driver.Value) error {
			cl.above[text(v[0])] = true
			return nil
		})
	})
	for key, has := range cl.above {
		if l := cl.known.byKey[key]; has {
			found = append(found, job.Lane{Key: key, Priority: priority, Turn: l.turn, Served: l.served})
		}
	}
	return found, err
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

// byHeads reports whether jobs of a lane are taken as its heads say.
func (cl *claiming) byHeads(key string) bool {
	return key != "" && !cl.inOrder(key) && cl.q.classes == nil
}

// Take takes due jobs of lanes. Those that the heads of lanes name are read together.
func (cl *claiming) Take(lanes []job.Lane, want []int) ([]job.Taken, error) {
	of := make([][]stored, len(lanes))
	for i, l := range lanes {
		if want[i] > 0 && !cl.byHeads(l.Key) {
			var err error
			if of[i], err = cl.takeOf(l, want[i]); err != nil {
				return nil, err
			}
		}
	}
	for more := true; more; { // what another process has taken is no longer there
		var err error
		if more, err = cl.takeHeads(lanes, want, of); err != nil {
			return nil, err
		}
	}
	got := make([]job.Taken, len(lanes))
	var all []stored
	for i := range lanes {
		for _, j := range of[i] {
			got[i].Cost += j.Cost
		}
		got[i].N = len(of[i])
		all = append(all, of[i]...)
	}
	cl.taken = append(cl.taken, all...)
	return got, cl.holdDue(cl.c, all)
}

// takeHeads adds jobs that the heads of lanes name to those that are taken, up to as many as are wanted, and reports whether there may be others.
func (cl *claiming) takeHeads(lanes []job.Lane, want []int, of [][]stored) (bool, error) {
	var seqs []int64
	heads := make([][]head, len(lanes))
	for i, l := range lanes {
		n := want[i] - len(of[i])
		if n == 0 || !cl.byHeads(l.Key) {
			continue
		}
		k := cl.known.byKey[l.Key]
		if err := cl.extend(k, l.Priority, n); err != nil {
			return false, err
		}
		if n = min(n, len(k.heads)); n == 0 {
			continue
		}
		heads[i], k.heads = k.heads[:n], k.heads[n:]
		k.used = heads[i][n-1]
		for _, h := range heads[i] {
			seqs = append(seqs, h.seq)
		}
	}
	if len(seqs) == 0 {
		return false, nil
	}
	waiting, err := cl.readWaiting(lanes[0].Priority, seqs)
	if err != nil {
		return false, err
	}
	missing := false
	for i := range lanes {
		for _, h := range heads[i] {
			if j, is := waiting[h.seq]; is && j.LimitKey == lanes[i].Key && j.RunAt.UnixMicro() == h.runAt {
				of[i] = append(of[i], j)
			} else {
				missing = true
			}
		}
	}
	return missing, nil
}

// readWaiting returns those of some jobs that wait in the queue by a priority, by the numbers of their rows.
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

// takeOf returns up to n due jobs of a lane that has no heads, or not for the kinds that are claimed.
func (cl *claiming) takeOf(l job.Lane, n int) ([]stored, error) {
	name, args := cl.which(l, n, "lane_take_kinds", "claim_due", "lane_take_first")
	found, err := cl.readJobs(scanDue(int64(l.Priority)), statement(name), args...)
	if err != nil || l.Key == "" {
		return found, err
	}
	for _, j := range found {
		if _, err := cl.exec(statement("lane_clean_one"), cl.q.id, l.Key, int64(j.Priority), j.RunAt.UnixMicro(), j.ID[:]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Keep notes what became of lanes.
func (cl *claiming) Keep(lanes []job.Lane) error {
	for _, l := range lanes {
		cl.moved(l)
		k := cl.known.byKey[l.Key]
		ended := k.turn != l.Turn
		if k.turn, k.served = l.Turn, l.Served; cl.above[l.Key] {
			l.Priority = k.priority
		}
		d, err := cl.left(k)
		if err != nil {
			return err
		}
		if err := cl.keep(l, k, d); err != nil {
			return err
		}
		if q := cl.known; ended && q.searching && q.openLanes >= mostKnown && k.key != "" && k.place != nil {
			if err := cl.clean(k); err != nil {
				return err
			}
			q.forget(k) // another has its turn first
			q.search()
		}
	}
	return nil
}

// left returns what is due of a lane that jobs were taken of, or might have been.
func (cl *claiming) left(k *knownLane) (laneDue, error) {
	if cl.byHeads(k.key) {
		switch {
		case len(k.heads) > 0:
			d := laneDue{priority: k.heads[0].priority, queued: true}
			if k.wake != 0 {
				d.wake = timeOf(k.wake)
			}
			return d, nil
		case !k.more:
			k.used = head{}
			cl.drained = append(cl.drained, k.key)
			return laneDue{}, nil
		}
	}
	return cl.due(k)
}
