package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Insert stores new jobs, all or none.
func (s *Store) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	c := &call{jobs: jobs}
	c.run = func(t *txn) (err error) {
		c.ids, err = t.insert(jobs)
		return err
	}
	if err := s.submit(ctx, "insert jobs", c); err != nil {
		return nil, err
	}
	return c.ids, nil
}

// insertTogether inserts the jobs of all calls that only insert, with as few statements as for one call.
func (t *txn) insertTogether(calls []*call) error {
	var all []*job.Job
	for _, c := range calls {
		all = append(all, c.jobs...)
	}
	if len(all) == 0 {
		return nil
	}
	ids, err := t.insert(all)
	if err != nil {
		return err
	}
	for _, c := range calls {
		n := len(c.jobs)
		c.ids, ids = ids[:n:n], ids[n:]
	}
	return nil
}

var insertRows = repeated("insert")

const insertArgs = 11 // per row

// insert stores jobs and returns, for each, the ID of the stored job: its own, or that of the holder of its key.
func (t *txn) insert(jobs []*job.Job) ([]job.ID, error) {
	ids := make([]job.ID, len(jobs))
	fresh := make([]*job.Job, 0, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
		if j.UniqueKey != "" {
			holder, err := t.takeKey(j.UniqueKey, j.ID)
			if err != nil {
				return nil, err
			}
			if ids[i] = holder; holder != j.ID {
				if ids[i], err = t.meetHolder(j, holder, fresh); err != nil {
					return nil, err
				}
				if ids[i] != j.ID {
					continue
				}
			}
		}
		fresh = append(fresh, j)
	}
	if slices.ContainsFunc(fresh, func(j *job.Job) bool { return j.LimitKey != "" }) {
		if err := t.pruneChanges(); err != nil {
			return nil, err
		}
	}
	args := make([]any, 0, 1+insertArgs*chunkSizes[0])
	return ids, insertRows.chunks(len(fresh), func(sql string, from, size int) error {
		args = append(args[:0], t.now)
		for _, j := range fresh[from : from+size] {
			c, err := t.class(j.Queue, j.Kind)
			if err != nil {
				return err
			}
			args = append(args, j.ID[:], c.id, c.queue, int64(j.Priority), t.due(j), int64(j.MaxAttempts),
				orNull(j.UniqueKey), uniqueFor(j), string(j.Args), optionsOf(j), orNull(j.LimitKey))
			t.count(c.id, queued, 1)
			t.changed[j.Queue] = true
		}
		if _, err := t.exec(sql, args...); err != nil {
			return explainInsert(err)
		}
		return nil
	})
}

func uniqueFor(j *job.Job) any {
	if j.UniqueFor == 0 {
		return nil
	}
	return j.UniqueFor.Microseconds()
}

// explainInsert describes the error of an ID that exists already.
func explainInsert(err error) error {
	if code(err) == codeConstraint {
		return fmt.Errorf("a job with one of the IDs is there already: %w", err)
	}
	return err
}
