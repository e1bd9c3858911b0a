package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Watch returns the last tree of a running job, and makes its worker report more.
func (s *Store) Watch(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
	var tree job.Tree
	err := s.write(ctx, fmt.Sprintf("watch job %v", id), func(t *txn) error {
		tree = job.Tree{}
		found, err := one(t, statement("watch_job"), id[:])
		switch {
		case err != nil:
			return err
		case found == nil:
			return job.ErrNotFound
		case integer(found[0]) > running:
			return nil
		}
		until := t.now + min(d, job.LongestWatch).Microseconds()
		return t.each(statement("watch"), []any{id[:], until, t.now}, func(v []driver.Value) error {
			if text, ok := v[2].([]byte); ok && integer(found[0]) == running && integer(v[0]) == integer(found[1]) {
				tree = job.Tree{Job: id, Attempt: int(integer(v[0])), At: timeOf(v[1]), JSON: append([]byte(nil), text...)}
			}
			return nil
		})
	})
	if err != nil {
		return job.Tree{}, err
	}
	return tree, nil
}

// keepTrees stores the trees of watched jobs that the session holds.
func (t *txn) keepTrees(r job.Renewal) error {
	for _, tree := range r.Trees {
		if _, err := t.exec(statement("watch_tree"), tree.Job[:], int64(r.Session), int64(tree.Attempt), t.now, tree.JSON); err != nil {
			return err
		}
	}
	return nil
}
