package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// A sweep is how far the lanes have been compared with their jobs.
type sweep struct {
	mu    sync.Mutex
	queue string // "" is where a pass begins
	key   string // the keys of the queue up to it are done
}

// sweepLanes compares the next lanes with their jobs, and repairs what differs.
func (s *Store) sweepLanes(ctx context.Context) (repaired []job.LaneRepair, err error) {
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	for range job.SweepSteps {
		var step *sweeping
		err := s.call(ctx, "compare limit keys with their jobs", func(ctx context.Context) error {
			if s.swept.queue == "" {
				next, err := s.nextSwept(ctx, "")
				if err != nil || next == "" {
					return err
				}
				s.swept.queue, s.swept.key = next, ""
			}
			return s.inBatches(ctx, func(b *batches) error {
				step = &sweeping{claiming: claiming{ctx: ctx, s: s, b: b, queue: s.swept.queue}, key: s.swept.key}
				return step.run()
			})
		})
		if err != nil || step == nil {
			return repaired, err
		}
		if len(step.repaired) > 0 {
			repaired = append(repaired, step.repaired...)
			s.notify([]string{step.queue})
		}
		if s.swept.key = step.key; !step.over {
			continue
		}
		if s.swept.queue, err = s.nextSwept(ctx, step.queue); err != nil || s.swept.queue == "" {
			return repaired, err
		}
	}
	return repaired, nil
}

// nextSwept returns the queue after one that has lanes to compare, or "".
func (s *Store) nextSwept(ctx context.Context, after string) (next string, err error) {
	err = s.run().each(ctx, s.sql("sweep_queue"), []any{after}, []any{&next}, func() error { return nil })
	return next, err
}

// A sweeping is a step, in a transaction that holds the lock of the queue.
type sweeping struct {
	claiming
	key      string
	over     bool // the queue is done
	repaired []job.LaneRepair
}

func (w *sweeping) run() error {
	if _, err := w.s.lockQueue(w.ctx, w.b, w.queue, &w.lanes, &w.at); err != nil {
		return err
	}
	w.counts = w.lanes.Limits.EachKey.AtOnce() > 0 || w.lanes.Overrides > 0
	var keys []string
	var key string
	err := w.b.each(w.ctx, w.s.sql("sweep_keys"), []any{w.queue, w.key, job.SweepLanes}, []any{&key}, func() error {
		keys = append(keys, key)
		return nil
	})
	if err != nil {
		return err
	}
	if w.over = len(keys) < job.SweepLanes; len(keys) == 0 {
		w.key = ""
		return nil
	}
	w.key = keys[len(keys)-1]
	if w.over {
		w.key = ""
	}
	wrong := map[string]string{}
	err = w.b.each(w.ctx, w.s.sql("sweep_holders"), []any{w.queue, keys}, []any{&key}, func() error {
		wrong[key] = "it was held by jobs that are not discarded"
		return nil
	})
	if err != nil {
		return err
	}
	return w.compare(keys, wrong)
}

// compare compares lanes with their jobs, those that were held by nothing among them. Marks are read after the jobs: a change that is seen has left its mark
// by then, which none but the holder of the lock takes away.
func (w *sweeping) compare(keys []string, wrong map[string]string) error {
	found, err := w.read(keys)
	if err != nil {
		return err
	}
	kept, err := w.marks(keys)
	if err != nil {
		return err
	}
	var put lanePut
	for _, l := range found {
		k, want := kept[l.Key], w.hint(l)
		k.Priority = l.Priority
		if wrong[l.Key] == "" && !k.marked {
			wrong[l.Key] = k.Wrong(want)
		}
		if wrong[l.Key] != "" {
			w.repaired = append(w.repaired, job.LaneRepair{Queue: w.queue, Key: l.Key, Wrong: wrong[l.Key]})
			put.add(&w.claiming, l, want)
		}
	}
	if len(w.repaired) == 0 {
		return nil
	}
	w.put(&put)
	w.b.later(w.s.sql("lane_turn"), []any{w.queue, w.lanes.Turn}, nil, nothing)
	return nil
}

// A keptLane is what is kept of a lane, and whether the next claim looks at it anyway.
type keptLane struct {
	job.LaneHint
	marked bool
}

func (w *sweeping) marks(keys []string) (map[string]keptLane, error) {
	kept := make(map[string]keptLane, len(keys))
	var key string
	var there, touched bool
	var wake pgtype.Timestamptz
	err := w.b.each(w.ctx, w.s.sql("sweep_marks"), []any{w.queue, keys}, []any{&key, &there, &wake, &touched}, func() error {
		hint := job.LaneHint{None: !there, Wake: timeOf(wake)}
		kept[key] = keptLane{hint, touched || wake.Valid && !wake.Time.After(w.at)}
		return nil
	})
	return kept, err
}
