package postgres

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// meetHolders decides between jobs and the holders of their keys, whose IDs are in ids, and writes to ids which job has the key then. It inserts
// the jobs that no holder keeps out. It locks all keys first, in one order, and then the holders by their IDs, as actions do, so that transactions
// do not deadlock.
func meetHolders(ctx context.Context, s *Store, r runner, jobs []*job.Job, ids []job.ID) error {
	holders := map[string]job.ID{}
	var kept []int
	for i, j := range jobs {
		if ids[i] == j.ID {
			continue
		}
		if kept = append(kept, i); j.Replace || j.UniqueWhile != nil {
			holders[j.UniqueKey] = job.ID{}
		}
	}
	keys := slices.Sorted(maps.Keys(holders))
	found, err := r.ids(ctx, s.sql("keys_lock"), keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		holders[key] = found[i]
	}
	order := maps.Clone(holders)
	slices.SortStableFunc(kept, func(a, b int) int {
		x, y := order[jobs[a].UniqueKey], order[jobs[b].UniqueKey]
		return bytes.Compare(x[:], y[:])
	})
	given := map[string]job.ID{}
	for _, i := range kept {
		j := jobs[i]
		if holder, ok := given[j.UniqueKey]; ok {
			ids[i] = holder
		}
		if !j.Replace && j.UniqueWhile == nil {
			continue
		}
		taken, err := meetHolder(ctx, s, r, j, holders[j.UniqueKey])
		if err != nil {
			return err
		}
		if taken {
			ids[i], given[j.UniqueKey], holders[j.UniqueKey] = j.ID, j.ID, j.ID
			if err := insertRows(ctx, s, r, []*job.Job{j}); err != nil {
				return err
			}
		}
	}
	return nil
}

// metTries is how often a job is compared with the holder of its key, if the holder turns out to be no longer queued.
const metTries = 3

// meetHolder gives a job the key, which is locked, if the holder is in none of the states of UniqueWhile, and returns true. Otherwise it replaces
// those fields of the holder that the job is to replace. If the holder is just being claimed, the first statement sees it queued, and the second one
// waits for the claim and then does not find the job. Then meetHolder starts again, since the args of the job would be lost.
func meetHolder(ctx context.Context, s *Store, r runner, j *job.Job, holder job.ID) (taken bool, err error) {
	states := make([]string, len(j.UniqueWhile))
	for i, state := range j.UniqueWhile {
		states[i] = string(state)
	}
	for range metTries {
		if j.UniqueWhile != nil {
			given, err := r.ids(ctx, s.sql("keys_give"), j.UniqueKey, [16]byte(j.ID), states)
			if err != nil || len(given) > 0 {
				return err == nil, err
			}
		}
		if !j.Replace || holder == (job.ID{}) {
			return false, nil
		}
		runAt, delay := due(j)
		var within *pgtype.Interval
		if j.ReplaceWithin > 0 {
			within = interval(j.ReplaceWithin)
		}
		replaced, err := r.ids(ctx, s.sql("keys_replace"), [16]byte(holder), string(j.Args), runAt, delay, within)
		if err != nil || len(replaced) > 0 || j.UniqueWhile == nil {
			return false, err
		}
	}
	return false, nil
}

// errFreed means that a transaction has to start again: it has taken some unique keys, and another one was freed since. Taking that key now would
// break the order in which all transactions take keys, and could deadlock.
var errFreed = errors.New("a unique key was freed while others were taken")

// takeKeys takes those unique keys of jobs that are free, and returns the holders of all, by key. In a transaction of the store's own it may return
// errFreed.
func takeKeys(ctx context.Context, s *Store, r runner, jobs []*job.Job, own bool) (map[string]job.ID, error) {
	holders, wanted := map[string]job.ID{}, map[string]job.ID{}
	for _, j := range jobs {
		if _, second := wanted[j.UniqueKey]; isKeyed(j) && !second {
			wanted[j.UniqueKey] = j.ID
		}
	}
	for len(wanted) > 0 {
		keys := slices.Sorted(maps.Keys(wanted)) // the same order in all transactions, so that they do not deadlock
		ids := make([]job.ID, len(keys))
		for i, key := range keys {
			ids[i] = wanted[key]
		}
		if _, err := r.ids(ctx, s.sql("keys_free"), keys); err != nil {
			return nil, err
		}
		taken, err := r.ids(ctx, s.sql("keys_take"), keys, uuids(ids))
		if err != nil {
			return nil, err
		}
		left := wanted
		wanted = map[string]job.ID{}
		var others []string
		for _, key := range keys {
			if id := left[key]; slices.Contains(taken, id) {
				holders[key] = id
			} else {
				others = append(others, key)
			}
		}
		if len(others) == 0 {
			break
		}
		found, err := r.ids(ctx, s.sql("keys_holders"), others)
		if err != nil {
			return nil, err
		}
		for i, key := range others {
			if found[i] == (job.ID{}) { // the key was freed after it was found to be held
				wanted[key] = left[key]
			} else {
				holders[key] = found[i]
			}
		}
		if own && len(wanted) > 0 && len(taken) > 0 {
			return nil, errFreed
		}
	}
	return holders, nil
}
