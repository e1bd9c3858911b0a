package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile/job"
)

// A sweep is how far the lanes have been compared with their jobs.
type sweep struct {
	mu    sync.Mutex
	queue int64  // its number; those before it are done
	key   string // so are the keys up to it
}

// sweepLanes compares the next lanes with their jobs, and repairs what differs.
func (s *Store) sweepLanes(ctx context.Context) (repaired []job.LaneRepair, err error) {
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	for range job.SweepSteps {
		var step *sweeping
		err := s.write(ctx, "compare limit keys with their jobs", func(t *txn) error {
			step = &sweeping{claiming: *newClaiming(t, job.Claim{}, nil), queue: s.swept.queue, key: s.swept.key}
			return step.run()
		})
		if err != nil {
			return repaired, err
		}
		repaired = append(repaired, step.repaired...)
		if s.swept.queue, s.swept.key = step.queue, step.key; s.swept.queue == 0 {
			break
		}
	}
	return repaired, nil
}

// A sweeping is a step, in a transaction.
type sweeping struct {
	claiming
	name     string // of the queue
	queue    int64  // where to go on, as in sweep
	key      string
	repaired []job.LaneRepair
}

func (w *sweeping) run() error {
	row, err := one(w, statement("sweep_queue"), w.queue)
	if err != nil {
		return err
	}
	if row == nil {
		w.queue, w.key = 0, ""
		return nil
	}
	if id := integer(row[0]); id != w.queue {
		w.queue, w.key = id, ""
	}
	w.name = text(row[1])
	_, lanes, err := w.limits(w.name)
	if err != nil {
		return err
	}
	w.q = &claimQueue{id: w.queue, name: w.name, lanes: lanes}
	if w.key == "" {
		if err := w.compareRunning(); err != nil {
			return err
		}
	}
	keys, err := w.keys()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.compare(key); err != nil {
			return err
		}
		w.key = key
	}
	if len(keys) < job.SweepLanes {
		w.queue, w.key = w.queue+1, ""
	}
	if len(w.repaired) == 0 {
		return nil
	}
	w.changed[w.name] = true
	if err := w.flush(); err != nil {
		return err
	}
	_, err = w.exec(statement("lane_queue"), w.q.id, lanes.Turn, micro(lanes.Full), micro(lanes.Paid))
	return err
}

// keys returns the next keys that have lanes or queued jobs.
func (w *sweeping) keys() (keys []string, err error) {
	for _, name := range []string{"sweep_lanes", "sweep_jobs"} {
		err := w.each(statement(name), []any{w.queue, w.key, int64(job.SweepLanes)}, func(v []driver.Value) error {
			keys = append(keys, text(v[0]))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return keys[:min(len(keys), job.SweepLanes)], nil
}

func (w *sweeping) found(key, wrong string) {
	w.repaired = append(w.repaired, job.LaneRepair{Queue: w.name, Key: key, Wrong: wrong})
}

// compareRunning compares how many jobs of the queue run with what is kept of that, which its limit is compared with.
func (w *sweeping) compareRunning() error {
	type class struct{ id, kept, running int64 }
	var wrong []class
	err := w.each(statement("sweep_running"), []any{w.queue}, func(v []driver.Value) error {
		wrong = append(wrong, class{integer(v[0]), integer(v[1]), integer(v[2])})
		return nil
	})
	for _, c := range wrong {
		w.count(c.id, running, c.running-c.kept)
		w.found("", fmt.Sprintf("%d jobs of a kind were said to run, and %d do", c.kept, c.running))
	}
	return err
}

// compare compares a lane with its jobs, unless the next claim looks at it anyway.
func (w *sweeping) compare(key string) error {
	released, err := w.exec(statement("sweep_holders"), w.queue, key)
	if err != nil {
		return err
	}
	if released > 0 {
		w.found(key, "it was held by jobs that are not discarded")
	}
	kept, lane := job.LaneHint{None: true}, job.Lane{Key: key}
	found, err := w.lanes("lane_find", w.queue, key)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		row, err := one(w, statement("sweep_wake"), w.queue, key)
		if err != nil {
			return err
		}
		lane = found[0]
		if kept = (job.LaneHint{Priority: lane.Priority}); row[0] != nil {
			kept.Wake = timeOf(row[0])
		}
		if released == 0 && row[0] != nil && integer(row[0]) <= w.now {
			return nil
		}
	} else if lane.Own, err = w.override(w.queue, w.q.lanes, key); err != nil {
		return err
	}
	if lane.Running, err = w.laneRunning(w.queue, key); err != nil {
		return err
	}
	due, err := w.due(key)
	if err != nil {
		return err
	}
	want := w.hint(lane, due)
	wrong := kept.Wrong(want)
	if wrong == "" {
		return nil
	}
	if released == 0 {
		w.found(key, wrong)
	}
	w.keep(lane, want)
	return nil
}
