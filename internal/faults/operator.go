//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	operatorPause = 400 * time.Millisecond
	sweepPause    = 200 * time.Millisecond
)

// operate retries or deletes discarded jobs that hold their limit keys, some time after it has first seen them, until ctx is canceled. It writes to a
// ledger what it is about to do.
func (o *round) operate(ctx context.Context, store job.Store) error {
	l, err := openLedger(filepath.Join(o.ledgers, "operator.ledger"))
	if err != nil {
		return err
	}
	defer l.file.Close()
	r := rand.New(rand.NewPCG(o.seed, 3))
	seen, retried := map[job.ID]int{}, map[job.ID]bool{} // seen is the attempt after which a job was seen as discarded
	for meanwhile.Sleep(ctx, operatorPause) == nil {
		found, err := store.List(ctx, job.Filter{Queues: []string{heldQueue}, States: []job.State{job.Discarded}, Limit: pageSize})
		if err != nil {
			continue // the store does not work at present
		}
		for _, j := range found {
			if seen[j.ID] != j.Attempt {
				seen[j.ID] = j.Attempt
				continue
			}
			action := job.ActionDelete
			if !retried[j.ID] && r.IntN(3) == 0 {
				action, retried[j.ID] = job.ActionRetry, true
			}
			e := entry{What: removes, ID: j.ID, Kind: j.Kind, Attempt: j.Attempt, Queue: j.Queue, Lane: j.LimitKey, Created: j.Created.UnixNano()}
			if action.To == job.Queued {
				e.What = retries
			}
			l.write(e)
			if _, err := store.Apply(ctx, job.Filter{IDs: []job.ID{j.ID}, Limit: 1}, action); err == nil {
				o.count(countDealt)
			}
		}
	}
	return nil
}

// sweep makes the store compare its lanes with the jobs again and again. There must never be anything to repair.
func (o *round) sweep(ctx context.Context, store job.Store) error {
	for meanwhile.Sleep(ctx, sweepPause) == nil {
		if pruned, err := store.Prune(ctx, nil, 0); err == nil {
			o.swept(pruned.Repaired)
		}
	}
	return nil
}

// sweepAtEnd does the same as sweep, three times, when all faults are undone and all jobs have ended.
func (o *round) sweepAtEnd(ctx context.Context, store job.Store) error {
	for range 3 {
		err := patiently(ctx, func(ctx context.Context) error {
			pruned, err := store.Prune(ctx, nil, 0)
			o.swept(pruned.Repaired)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *round) swept(repaired []job.LaneRepair) {
	o.count(countSweeps)
	o.add(countRepaired, len(repaired))
	for _, lane := range repaired {
		o.violated("key %q of queue %s did not match its jobs, and was repaired: %s", lane.Key, lane.Queue, lane.Wrong)
	}
}
