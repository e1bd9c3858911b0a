package jobs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// Stats is "meanwhile jobs stats".
type Stats struct {
	Kinds bool `help:"Count each kind of a queue separately."`
}

// figures are the numbers of a queue, or of a kind in it.
type figures struct {
	Queue     string        `json:"queue"`
	Kind      string        `json:"kind,omitempty"`
	Queued    int64         `json:"queued"`
	Running   int64         `json:"running"`
	Completed int64         `json:"completed"`
	Canceled  int64         `json:"canceled"`
	Discarded int64         `json:"discarded"`
	Wait      time.Duration `json:"wait"` // of the job that has been due for the longest time
	Paused    bool          `json:"paused"`
}

// Run counts the jobs.
func (st *Stats) Run(c *Command, streams probe.Streams) error {
	return c.use(false, func(ctx context.Context, s job.Store) error {
		counts, err := s.Counts(ctx)
		if err != nil {
			return err
		}
		queues, err := s.Queues(ctx)
		if err != nil {
			return err
		}
		sums := sumUp(counts, queues, st.Kinds)
		if c.JSON {
			for _, f := range sums {
				if err := writeJSON(streams.Out, f); err != nil {
					return err
				}
			}
			return nil
		}
		columns := []column{{title: "QUEUE", least: 8}}
		if st.Kinds {
			columns = append(columns, column{title: "KIND", least: 8})
		}
		for _, title := range []string{"QUEUED", "RUNNING", "COMPLETED", "CANCELED", "DISCARDED"} {
			columns = append(columns, column{title: title, right: true})
		}
		if !st.Kinds {
			columns = append(columns, column{title: "WAIT", right: true})
		}
		var rows []row
		var all figures
		for _, f := range sums {
			rows = append(rows, f.row(st.Kinds))
			all.add(job.Queued, f.Queued)
			all.add(job.Running, f.Running)
			all.add(job.Completed, f.Completed)
			all.add(job.Canceled, f.Canceled)
			all.add(job.Discarded, f.Discarded)
		}
		if len(sums) > 1 {
			all.Queue = "all"
			rows = append(rows, all.row(st.Kinds))
		}
		return c.table(streams, rows, "There are no jobs.", columns...)
	})
}

func (f *figures) add(state job.State, n int64) {
	switch state {
	case job.Queued:
		f.Queued += n
	case job.Running:
		f.Running += n
	case job.Completed:
		f.Completed += n
	case job.Canceled:
		f.Canceled += n
	case job.Discarded:
		f.Discarded += n
	}
}

func (f *figures) row(kinds bool) row {
	cells := []string{f.Queue}
	if kinds {
		cells = append(cells, f.Kind)
	}
	for _, n := range []int64{f.Queued, f.Running, f.Completed, f.Canceled, f.Discarded} {
		cells = append(cells, probe.Number(int(n)))
	}
	if !kinds {
		wait := ""
		switch {
		case f.Paused:
			wait = "paused"
		case f.Wait > 0:
			wait = probe.Span(f.Wait)
		}
		cells = append(cells, wait)
	}
	return row{cells: cells}
}

// sumUp returns the figures by queue, and by kind if kinds is set, in the order of their names.
func sumUp(counts []job.Count, queues []job.QueueInfo, kinds bool) []*figures {
	type key struct{ queue, kind string }
	sums := map[key]*figures{}
	at := func(queue, kind string) *figures {
		if !kinds {
			kind = ""
		}
		k := key{queue, kind}
		if sums[k] == nil {
			sums[k] = &figures{Queue: queue, Kind: kind}
		}
		return sums[k]
	}
	for _, n := range counts {
		at(n.Queue, n.Kind).add(n.State, n.N)
	}
	if !kinds {
		for _, q := range queues {
			f := at(q.Name, "")
			f.Wait, f.Paused = q.Wait, q.Paused
		}
	}
	list := make([]*figures, 0, len(sums))
	for _, f := range sums {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *figures) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind)) })
	return list
}
