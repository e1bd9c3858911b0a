package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

// sweepJobs is how many queued jobs a step searches among the waiting ones.
const sweepJobs = 1000

// A sweepPlace is how far the lanes have been compared with their jobs.
type sweepPlace struct {
	queue int64  // the number of the queue; those before it are done
	key   string // the keys up to this one are done
	jobs  bool   // all keys are done, and so are the due jobs up to the one with runAt and id
	runAt int64
	id    job.ID
}

// A sweep has the place up to which a store has swept.
type sweep struct {
	mu    sync.Mutex
	place sweepPlace
}

// sweepLanes compares the next lanes with their jobs, and repairs what differs.
func (s *Store) sweepLanes(ctx context.Context) (repaired []job.LaneRepair, err error) {
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	for range job.SweepSteps {
		var step *sweeping
		err := s.write(ctx, "compare limit keys with their jobs", func(t *txn) error {
			step = &sweeping{claiming: claiming{txn: t, kept: true}, place: s.swept.place}
			return step.run()
		})
		if err != nil {
			return repaired, err
		}
		repaired = append(repaired, step.repaired...)
		if s.swept.place = step.place; s.swept.place == (sweepPlace{}) {
			break
		}
	}
	return repaired, nil
}

// A sweeping is one step of a sweep, in a transaction.
type sweeping struct {
	claiming
	name     string // of the queue
	place    sweepPlace
	repaired []job.LaneRepair
}

func (w *sweeping) run() error {
	row, err := one(w, statement("sweep_queue"), w.place.queue)
	if err != nil {
		return err
	}
	if row == nil {
		w.place = sweepPlace{}
		return nil
	}
	if id := integer(row[0]); id != w.place.queue {
		w.place = sweepPlace{queue: id}
	}
	w.name = text(row[1])
	_, limits, err := w.limits(w.name)
	if err != nil {
		return err
	}
	w.q = &claimQueue{id: w.place.queue, name: w.name, lanes: limits}
	if w.place.jobs {
		err = w.compareJobs()
	} else {
		err = w.compareKeys()
	}
	if len(w.repaired) > 0 {
		w.changed[w.name] = true
	}
	return err
}

// compareKeys compares the next lanes with this process's cache.
func (w *sweeping) compareKeys() error {
	if w.place.key == "" {
		if err := w.compareRunning(); err != nil {
			return err
		}
	}
	m := &w.store.lanes
	m.use(w.txn)
	if err := w.readChanges(m); err != nil {
		return err
	}
	var keys []string
	err := w.each(statement("sweep_keys"), []any{w.place.queue, w.place.key, int64(job.SweepLanes)}, func(v []driver.Value) error {
		keys = append(keys, text(v[0]))
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.compare(m.queues[w.place.queue], keys); err != nil {
		return err
	}
	if len(keys) > 0 {
		w.place.key = keys[len(keys)-1]
	}
	w.place.jobs = len(keys) < job.SweepLanes
	return nil
}

// compareJobs searches the next queued jobs with limit keys among the waiting ones, and adds those that are missing.
func (w *sweeping) compareJobs() error {
	from := w.place
	end, err := one(w, statement("sweep_jobs"), from.queue, from.runAt, from.id[:], int64(sweepJobs-1))
	if err != nil {
		return err
	}
	to := sweepPlace{queue: from.queue + 1}
	upTo := []any{int64(math.MaxInt64), []byte{}}
	if end != nil {
		to = sweepPlace{queue: from.queue, key: from.key, jobs: true, runAt: integer(end[0]), id: idOf(end[1])}
		upTo = []any{to.runAt, to.id[:]}
	}
	missing := map[string][]int64{}
	err = w.each(statement("sweep_missing"), append([]any{from.queue, from.runAt, from.id[:]}, upTo...), func(v []driver.Value) error {
		missing[text(v[1])] = append(missing[text(v[1])], integer(v[0]))
		return nil
	})
	if err != nil {
		return err
	}
	for key, seqs := range missing {
		for _, seq := range seqs {
			if _, err := w.exec(statement("sweep_add"), seq); err != nil {
				return err
			}
		}
		if err := w.repair(key, fmt.Sprintf("%d queued jobs were not among those that wait", len(seqs))); err != nil {
			return err
		}
	}
	w.place = to
	return nil
}

// repair reports a lane, and makes every process read it again.
func (w *sweeping) repair(key, wrong string) error {
	w.found(key, wrong)
	return w.mark(w.place.queue, key)
}

func (w *sweeping) found(key, wrong string) {
	w.repaired = append(w.repaired, job.LaneRepair{Queue: w.name, Key: key, Wrong: wrong})
}

// compareRunning compares how many jobs of the queue are running with the stored count, which the limit is compared with.
func (w *sweeping) compareRunning() error {
	type class struct{ id, kept, running int64 }
	var wrong []class
	err := w.each(statement("sweep_running"), []any{w.place.queue}, func(v []driver.Value) error {
		wrong = append(wrong, class{integer(v[0]), integer(v[1]), integer(v[2])})
		return nil
	})
	for _, c := range wrong {
		w.count(c.id, running, c.running-c.kept)
		w.found("", fmt.Sprintf("the count of running jobs of a kind was %d instead of %d", c.kept, c.running))
	}
	return err
}

// compare compares lanes with the cache.
func (w *sweeping) compare(q *lanes.Queue, keys []string) error {
	wrong := map[string]string{}
	for _, key := range keys {
		released, err := w.exec(statement("sweep_holders"), w.place.queue, key)
		if err != nil {
			return err
		}
		if released > 0 {
			wrong[key] = "it was held by jobs that are not discarded"
		}
	}
	if q != nil {
		claim := &lanes.Claim{Rows: w, Queue: w.q.lanes, At: timeOf(w.now), Most: math.MaxInt, Kept: true}
		right, err := claim.Read(keys)
		if err != nil {
			return err
		}
		right.Compare(q, wrong)
	}
	for _, key := range keys {
		if wrong[key] == "" {
			continue
		}
		if err := w.repair(key, wrong[key]); err != nil {
			return err
		}
	}
	return nil
}
