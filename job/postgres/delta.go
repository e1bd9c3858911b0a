package postgres

import (
	"cmp"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// deltas adds up the changes of the counts of jobs.
type deltas struct{ rows []delta }

type delta struct {
	queue, kind                                string
	unfinished, completed, canceled, discarded int64
}

func (d *deltas) add(queue, kind string, state job.State, n int64) {
	i := slices.IndexFunc(d.rows, func(r delta) bool { return r.queue == queue && r.kind == kind })
	if i < 0 {
		i = len(d.rows)
		d.rows = append(d.rows, delta{queue: queue, kind: kind})
	}
	switch r := &d.rows[i]; state {
	case job.Completed:
		r.completed += n
	case job.Canceled:
		r.canceled += n
	case job.Discarded:
		r.discarded += n
	default:
		r.unfinished += n
	}
}

// args returns the columns, for unnest.
func (d *deltas) args() []any {
	slices.SortFunc(d.rows, func(a, b delta) int { return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.kind, b.kind)) })
	n := len(d.rows)
	queues, kinds := make([]string, n), make([]string, n)
	var sums [4][]int64
	for i := range sums {
		sums[i] = make([]int64, n)
	}
	for i, r := range d.rows {
		queues[i], kinds[i] = r.queue, r.kind
		sums[0][i], sums[1][i], sums[2][i], sums[3][i] = r.unfinished, r.completed, r.canceled, r.discarded
	}
	return []any{sums[0], sums[1], sums[2], sums[3], queues, kinds}
}
