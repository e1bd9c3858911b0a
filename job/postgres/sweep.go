package postgres

import (
	"context"
	"math"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

// A sweep is how far lanes have been compared with their jobs.
type sweep struct {
	mu    sync.Mutex
	queue string // "" at the start of a pass
	key   string // keys of the queue up to this one are done
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
			known := s.known.find(s.swept.queue)
			if known == nil {
				known = newKnownQueue()
			}
			step = &sweeping{claiming: claiming{ctx: ctx, s: s, queue: s.swept.queue, kept: true, known: known, changes: newChanges()}, key: s.swept.key}
			return step.compareNext()
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

// nextSwept returns the next queue after one that has lanes to compare, or "".
func (s *Store) nextSwept(ctx context.Context, after string) (next string, err error) {
	err = s.run().each(ctx, s.sql("sweep_queue"), []any{after}, []any{&next}, func() error { return nil })
	return next, err
}

// A sweeping is one step of a sweep, in a transaction that holds the lock of the queue.
type sweeping struct {
	claiming
	key      string
	over     bool // the queue is done
	compared bool // the lanes that were compared, with changes up to now applied
	repaired []job.LaneRepair
}

// compareNext compares the next lanes in a transaction.
func (w *sweeping) compareNext() error {
	if err := w.known.use(w.ctx); err != nil {
		return err
	}
	defer w.known.free()
	err := w.s.inBatches(w.ctx, func(b *batches) error {
		w.b = b
		return w.run()
	})
	if err != nil {
		w.known.forget()
		return err
	}
	if w.compared {
		w.changes.committed(w.known, 0)
	}
	return nil
}

func (w *sweeping) run() error {
	if _, err := w.s.lockQueue(w.ctx, w.b, w.queue, &w.lanes, &w.at); err != nil {
		return err
	}
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

// compare compares lanes with their jobs, and finds lanes that no job holds. It reads the changes after the jobs: a job that it sees has
// already written its change, which only the holder of the lock removes.
func (w *sweeping) compare(keys []string, wrong map[string]string) error {
	claim := &lanes.Claim{Rows: w, Queue: &w.lanes, At: w.at, Most: math.MaxInt, Kept: true}
	kept, err := claim.Read(keys)
	if err != nil {
		return err
	}
	var r changeRow
	args := append([]any{w.queue}, w.changes.ask(w.known)...)
	err = w.b.each(w.ctx, w.s.sql("lane_changed"), args, r.columns(), func() error {
		w.changes.add(&r)
		return nil
	})
	if err != nil {
		return err
	}
	if w.compared = true; w.known.lanes != nil && w.changes.known {
		w.changes.apply(w.known)
		if !w.changes.more {
			kept.Compare(w.known.lanes, wrong)
		}
	} else {
		w.known.forget()
	}
	var repaired []string
	for _, key := range keys {
		if wrong[key] != "" {
			repaired = append(repaired, key)
			w.repaired = append(w.repaired, job.LaneRepair{Queue: w.queue, Key: key, Wrong: wrong[key]})
		}
	}
	if len(repaired) > 0 {
		w.b.later(w.s.sql("lane_touch"), []any{w.queue, repaired}, nil, nothing)
	}
	return nil
}
