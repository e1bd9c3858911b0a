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
				Name: text(row[0]), Paused: text(row[1]) != "", Queued: number(row[2]), Running: number(row[3]), Wait: time.Duration(number(row[4])) * time.Microsecond,
			})
		}
		slices.SortFunc(infos, func(a, b job.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// Pause stops claims from a queue, or resumes them.
func (s *Store) Pause(ctx context.Context, queue string, paused bool) error {
	return s.call(ctx, "pause queue "+queue, func(ctx context.Context) error {
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
