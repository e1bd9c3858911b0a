package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Prune deletes at most limit finished jobs that are older than their retention, and other outdated data, and compares lanes. Freed
// space in the file is reused; the file does not shrink.
func (s *Store) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
	deleted := 0
	err := s.write(ctx, "prune jobs", func(t *txn) (err error) {
		if deleted, err = t.prune(retention, limit); err != nil {
			return err
		}
		if _, err := t.exec(statement("key_prune"), t.now, int64(max(limit, 0))); err != nil {
			return err
		}
		if err := t.mergeStats(); err != nil {
			return err
		}
		for name, kept := range map[string]time.Duration{
			"worker_prune": job.WorkerKept, "session_prune": job.SessionKept, "cron_prune": job.CronKept, "watch_prune": 0, "order_prune": job.CommandKept,
			"past_prune": job.StatsPast, "audit_prune": job.AuditKept,
		} {
			if _, err := t.exec(statement(name), t.now-kept.Microseconds()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return job.Pruned{}, err
	}
	repaired, err := s.sweepLanes(ctx)
	return job.Pruned{Deleted: deleted, Repaired: repaired}, err
}

var pruneDelete = repeated("prune_delete")

func (t *txn) prune(retention map[job.State]time.Duration, limit int) (int, error) {
	type old struct{ seq, finished int64 }
	var found []old
	for state, keep := range retention {
		n, err := stateNumber(state)
		if err != nil {
			continue // no job is in such a state
		}
		err = t.each(statement("prune_find"), []any{n, t.now - keep.Microseconds(), int64(max(limit, 0))}, func(v []driver.Value) error {
			found = append(found, old{integer(v[0]), integer(v[1])})
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	slices.SortFunc(found, func(a, b old) int { return cmp.Or(cmp.Compare(a.finished, b.finished), cmp.Compare(a.seq, b.seq)) })
	found = found[:min(len(found), max(limit, 0))]
	return len(found), pruneDelete.chunks(len(found), func(sql string, from, size int) error {
		args := make([]any, 0, size)
		for _, f := range found[from : from+size] {
			args = append(args, f.seq)
		}
		return t.each(sql, args, func(v []driver.Value) error {
			t.count(integer(v[0]), integer(v[1]), -1)
			return nil
		})
	})
}
