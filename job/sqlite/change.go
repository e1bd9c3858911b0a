package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// Change lets decide say what is to happen to each of the jobs.
func (s *Store) Change(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var conflicts []job.ID
	var panicked any
	err := s.submit(ctx, "change jobs", &call{alone: true, run: func(t *txn) (err error) {
		// The writing may be done by another caller, whom a panic of this one's decide is not to hit.
		defer func() {
			if panicked = recover(); panicked != nil {
				err = errors.New("the function that decides panicked")
			}
		}()
		conflicts, err = t.change(ids, decide)
		return err
	}})
	if panicked != nil {
		panic(panicked)
	}
	if err != nil {
		return nil, err
	}
	return conflicts, nil
}

func (t *txn) change(ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
	var conflicts []job.ID
	seen := make(map[job.ID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		found, err := t.readJobs((*txn).scanJob, statement("change_read"), id[:])
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		was, to := found[0], *found[0].Job
		switch decide(&to) {
		case job.Write:
			ok, err := t.writeChanged(was, &to)
			if err != nil {
				return nil, err
			}
			if !ok {
				conflicts = append(conflicts, id)
			}
		case job.Remove:
			if err := t.remove(was); err != nil {
				return nil, err
			}
		}
	}
	return conflicts, nil
}

// writeChanged writes a job as it was decided, and reports false when its unique key is taken.
func (t *txn) writeChanged(was stored, to *job.Job) (bool, error) {
	if (was.State == job.Running) != (to.State == job.Running) {
		return false, fmt.Errorf("job %v cannot go from %s to %s: only Claim and Settle do that", was.ID, was.State, to.State)
	}
	if was.State == job.Running {
		_, err := t.exec(statement("change_cancel"), was.seq, flag(to.CancelRequested))
		return true, err
	}
	before, err := stateNumber(was.State)
	if err != nil {
		return false, err
	}
	after, err := stateNumber(to.State)
	if err != nil {
		return false, fmt.Errorf("job %v: %w", was.ID, err)
	}
	finished := micros(was.Finished)
	switch {
	case after == queued:
		finished = nil
		if before != queued && was.UniqueKey != "" {
			holder, err := t.takeKey(was.UniqueKey, was.ID)
			if err != nil || holder != was.ID {
				return false, err
			}
		}
	case before == queued:
		finished = t.now
		if was.UniqueKey != "" {
			if err := t.letGoKey(was.UniqueKey, was.ID, was.Created.Add(was.UniqueFor).UnixMicro()); err != nil {
				return false, err
			}
		}
	}
	c, err := t.class(to.Queue, was.Kind)
	if err != nil {
		return false, err
	}
	t.count(was.class, before, -1)
	t.count(c.id, after, 1)
	if after == queued {
		t.changed[to.Queue] = true
	}
	_, err = t.exec(statement("change_write"), was.seq, after, c.id, c.queue, int64(to.Priority), t.due(to), int64(to.Spared),
		int64(to.MaxAttempts), flag(to.CancelRequested), detailOf(to), finished)
	return true, err
}

// remove deletes a job, with its unique key if it holds it.
func (t *txn) remove(was stored) error {
	state, err := stateNumber(was.State)
	if err != nil {
		return err
	}
	if was.UniqueKey != "" {
		if _, err := t.exec(statement("key_free"), was.UniqueKey, was.ID[:]); err != nil {
			return err
		}
	}
	t.count(was.class, state, -1)
	_, err = t.exec(statement("change_remove"), was.seq)
	return err
}
