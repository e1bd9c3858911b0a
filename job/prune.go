package job

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	pruneEach  = time.Minute
	prunedOnce = 1000 // jobs
)

// pruneLoop deletes finished jobs whose retention is over, a thousand per call. After each call it pauses for as long as the call took, so that it
// uses at most half of a connection. Every worker does this; jobs that one has deleted are not found by the others.
func (r *run) pruneLoop(ctx context.Context) error {
	retention := map[State]time.Duration{}
	for state, d := range r.config.Retention {
		if d >= 0 {
			retention[state] = d
		}
	}
	for {
		if err := meanwhile.Sleep(ctx, pruneEach/2+jitter(pruneEach/2)); err != nil {
			return err
		}
		for {
			begun := time.Now()
			pruned, err := r.callPrune(ctx, retention)
			if fatal(err) {
				return err
			}
			r.reportRepairs(pruned.Repaired)
			if err != nil || pruned.Deleted < prunedOnce {
				break // a failed call is repeated within a minute; errors of the store are reported by the claim loop
			}
			if err := meanwhile.Sleep(ctx, time.Since(begun)); err != nil {
				return err
			}
		}
	}
}

func (r *run) callPrune(ctx context.Context, retention map[State]time.Duration) (Pruned, error) {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	return r.store.Prune(call, retention, prunedOnce)
}

// repairsLogged bounds how many repairs of a call are logged one by one. All are passed to the observer.
const repairsLogged = 100

func (r *run) reportRepairs(repaired []LaneRepair) {
	for i, lane := range repaired {
		if i < repairsLogged {
			r.config.Logger.Warn("job: a limit key did not match its jobs and was repaired", "queue", lane.Queue, "key", lane.Key, "wrong", lane.Wrong)
		}
		r.observe(Event{Kind: LaneRepaired, Repair: &lane})
	}
	if more := len(repaired) - repairsLogged; more > 0 {
		r.config.Logger.Warn("job: more limit keys did not match their jobs and were repaired", "lanes", more)
	}
}
