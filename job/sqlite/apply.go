package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Apply applies an action to the newest jobs that match the filter.
func (s *Store) Apply(ctx context.Context, f job.Filter, action job.Action) (done job.ActionResult, err error) {
	if f.Limit <= 0 {
		return done, fmt.Errorf("change jobs: a limit of %d", f.Limit)
	}
	if err := action.Check(); err != nil {
		return done, fmt.Errorf("change jobs: %w", err)
	}
	err = s.write(ctx, "change jobs", func(t *txn) (err error) {
		done, err = t.apply(f, action)
		return err
	})
	if err != nil {
		return job.ActionResult{}, err
	}
	return done, nil
}

func (t *txn) apply(f job.Filter, action job.Action) (job.ActionResult, error) {
	if err := t.writeCounts(); err != nil { // the counts of earlier calls in the transaction: they decide where to search
		return job.ActionResult{}, err
	}
	ids, err := t.findIDs(f)
	if err != nil {
		return job.ActionResult{}, err
	}
	a := &applying{txn: t, action: action}
	if err := a.pruneChanges(); err != nil {
		return job.ActionResult{}, err
	}
	if err := a.applyTo(ids); err != nil {
		return job.ActionResult{}, err
	}
	if len(ids) == f.Limit {
		a.done.Next = idOf(ids[len(ids)-1])
	}
	return a.done, nil
}

// An applying is an action that is applied to jobs: to as many at once as a statement has rows for.
type applying struct {
	*txn
	action job.Action
	done   job.ActionResult
}

var (
	applyCensus = repeated("apply_census")
	applyKeyed  = repeated("apply_keyed")
	applyFinish = repeated("apply_finish")
	applyCancel = repeated("apply_cancel")
	applyDelete = repeated("apply_delete")
	applyQueued = repeated("apply_queued")
	applyMove   = repeated("apply_move")
	applyRetry  = repeated("apply_retry")
)

func (a *applying) applyTo(ids [][]byte) error {
	return applyCensus.chunks(len(ids), func(sql string, from, size int) error {
		part := make([]any, size)
		for i, id := range ids[from : from+size] {
			part[i] = id
		}
		found, err := a.census(sql, part)
		if err != nil {
			return err
		}
		if err := a.retryKeyed(found, part); err != nil {
			return err
		}
		for state, numbers := range found {
			if !a.action.Suits(states[state]) {
				for _, n := range numbers {
					a.done.Skipped += int(n)
				}
				continue
			}
			if err := a.applyFrom(state, numbers, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// census returns how many of the jobs are in each state, by class.
func (a *applying) census(sql string, ids []any) (map[int64]map[int64]int64, error) {
	found := map[int64]map[int64]int64{}
	err := a.each(sql, ids, func(v []driver.Value) error {
		class, state := integer(v[0]), integer(v[1])
		if found[state] == nil {
			found[state] = map[int64]int64{}
		}
		found[state][class] = integer(v[2])
		return nil
	})
	return found, err
}

// applyFrom applies the action to those of the jobs that are in a state that it applies to; numbers has how many they are, by
// class.
func (a *applying) applyFrom(state int64, numbers map[int64]int64, ids []any) error {
	for _, n := range numbers {
		a.done.Changed += int(n)
	}
	if state == queued || state == discarded {
		for class := range numbers { // when a job that runs in order is gone, the next may start
			a.ended[class] = true
		}
	}
	switch {
	case state == running:
		return a.run(applyCancel, ids)
	case a.action.To == job.Queued && state == queued:
		return a.applyQueued(numbers, ids)
	case a.action.To == job.Queued:
		return a.retry(state, numbers, ids)
	case a.action.To == "":
		return a.remove(state, numbers, ids)
	}
	return a.finish(state, numbers, ids)
}

// applyQueued applies the action to jobs that stay queued.
func (a *applying) applyQueued(numbers map[int64]int64, ids []any) error {
	for from, n := range numbers {
		name, err := a.className(from)
		if err != nil {
			return err
		}
		if a.action.Queue == "" {
			a.changed[name.queue] = true
			continue
		}
		to, err := a.class(a.action.Queue, name.kind)
		if err != nil {
			return err
		}
		a.count(from, queued, -n)
		a.count(to.id, queued, n)
		a.changed[a.action.Queue] = true
		if err := a.run(applyMove, ids, to.id, to.queue, from); err != nil {
			return err
		}
	}
	var priority, runAt any
	if a.action.Priority != 0 {
		priority = int64(a.action.Priority)
	}
	if a.action.Due {
		runAt = a.due(&job.Job{RunAt: a.action.RunAt})
	}
	if priority == nil && runAt == nil {
		return nil
	}
	return a.run(applyQueued, ids, priority, runAt)
}

// retryKeyed queues those finished jobs again that have a unique key and get it, the newest first in whatever state, and subtracts the others from
// the numbers.
func (a *applying) retryKeyed(found map[int64]map[int64]int64, ids []any) error {
	if a.action.To != job.Queued {
		return nil
	}
	type ended struct {
		keyedJob
		state int64
	}
	var all []ended
	for state := range found {
		if state == queued || !a.action.Suits(states[state]) {
			continue
		}
		keyed, err := a.keyed(state, ids)
		if err != nil {
			return err
		}
		for _, k := range keyed {
			all = append(all, ended{k, state})
		}
	}
	slices.SortFunc(all, func(x, y ended) int { return bytes.Compare(y.id[:], x.id[:]) })
	for _, k := range all {
		holder, err := a.takeKey(k.key, k.id)
		if err != nil {
			return err
		}
		if holder != k.id {
			a.done.Conflicts++
			found[k.state][k.class]--
			continue
		}
		if _, err := a.exec(statement("apply_retry_keyed"), k.seq, a.retriedAt()); err != nil {
			return err
		}
	}
	return nil
}

// retriedAt returns when retried jobs are due; null leaves the time and the attempts as they are.
func (a *applying) retriedAt() any {
	if a.action.Due {
		return a.now
	}
	return nil
}

// retry queues finished jobs again that have no unique key, and counts those that have one.
func (a *applying) retry(state int64, numbers map[int64]int64, ids []any) error {
	for class, n := range numbers {
		name, err := a.className(class)
		if err != nil {
			return err
		}
		a.count(class, state, -n)
		a.count(class, queued, n)
		a.changed[name.queue] = true
	}
	return a.run(applyRetry, ids, state, a.retriedAt())
}

// remove deletes jobs, with the unique keys that they hold.
func (a *applying) remove(state int64, numbers map[int64]int64, ids []any) error {
	keyed, err := a.keyed(state, ids)
	if err != nil {
		return err
	}
	for _, k := range keyed {
		if _, err := a.exec(statement("key_free"), k.key, k.id[:]); err != nil {
			return err
		}
	}
	for class, n := range numbers {
		a.count(class, state, -n)
	}
	return a.run(applyDelete, ids, state)
}

// finish cancels or discards queued jobs.
func (a *applying) finish(state int64, numbers map[int64]int64, ids []any) error {
	keyed, err := a.keyed(state, ids)
	if err != nil {
		return err
	}
	for _, k := range keyed {
		if err := a.letGoKey(k.key, k.id, k.until); err != nil {
			return err
		}
	}
	to, err := stateNumber(a.action.To)
	if err != nil {
		return err
	}
	for class, n := range numbers {
		a.count(class, state, -n)
		a.count(class, to, n)
	}
	return a.run(applyFinish, ids, to, a.now)
}

// A keyedJob is a job that has a unique key, which it may hold or not.
type keyedJob struct {
	seq, class int64
	id         job.ID
	key        string
	until      int64 // when UniqueFor is over
}

// keyed returns those of the jobs that are in a state and have a unique key.
func (a *applying) keyed(state int64, ids []any) (found []keyedJob, err error) {
	err = applyKeyed.chunks(len(ids), func(sql string, from, size int) error {
		return a.each(sql, append([]any{state}, ids[from:from+size]...), func(v []driver.Value) error {
			found = append(found, keyedJob{integer(v[0]), integer(v[2]), idOf(v[1]), text(v[3]), integer(v[4])})
			return nil
		})
	})
	return found, err
}

// run runs a statement for jobs, with args before their IDs.
func (a *applying) run(m *many, ids []any, args ...any) error {
	return m.chunks(len(ids), func(sql string, from, size int) error {
		_, err := a.exec(sql, append(args[:len(args):len(args)], ids[from:from+size]...)...)
		return err
	})
}
