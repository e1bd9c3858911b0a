package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Queues returns every queue that has unfinished jobs or is paused, by name.
func (s *Store) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	infos := []job.QueueInfo{}
	err := s.call(ctx, "list queues", func(ctx context.Context) error {
		rows, err := s.run(ctx, queuesScript)
		if err != nil {
			return err
		}
		for i := range rows {
			row, err := rows[i].ToArray()
			if err != nil {
				return err
			}
			infos = append(infos, job.QueueInfo{
				Name: text(row[0]), Paused: text(row[1]) != "", Queued: number(row[2]), Running: number(row[3]),
			})
		}
		slices.SortFunc(infos, func(a, b job.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
		return s.readWaits(ctx, infos)
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// waitsAtOnce is for how many queues one script reads the waits.
const waitsAtOnce = 100

// readWaits sets Wait of the queues that have queued jobs.
func (s *Store) readWaits(ctx context.Context, infos []job.QueueInfo) error {
	var names []string
	var at []int
	for i, info := range infos {
		if info.Queued > 0 {
			names, at = append(names, info.Name), append(at, i)
		}
	}
	for len(names) > 0 {
		n := min(len(names), waitsAtOnce)
		waits, err := s.run(ctx, waitsScript, names[:n]...)
		if err != nil {
			return err
		}
		for k := range waits {
			infos[at[k]].Wait = time.Duration(number(waits[k])) * time.Microsecond
		}
		names, at = names[n:], at[n:]
	}
	return nil
}

// Pause stops claims from a queue, or resumes them.
func (s *Store) Pause(ctx context.Context, queue string, paused bool) error {
	return s.call(ctx, "pause or resume queue "+queue, func(ctx context.Context) error {
		_, err := s.runOne(ctx, pauseScript, queue, flag(paused))
		return err
	})
}

// Counts returns how many jobs there are by queue, kind and state.
func (s *Store) Counts(ctx context.Context) ([]job.Count, error) {
	counts := []job.Count{}
	err := s.call(ctx, "count jobs", func(ctx context.Context) error {
		rows, err := s.run(ctx, countsScript)
		if err != nil {
			return err
		}
		for i := range rows {
			row, err := rows[i].ToArray()
			if err != nil {
				return err
			}
			counts = append(counts, job.Count{State: job.State(text(row[0])), Queue: text(row[1]), Kind: text(row[2]), N: number(row[3])})
		}
		slices.SortFunc(counts, func(a, b job.Count) int {
			return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State))
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}
