package jobtest

import (
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A Damage corrupts the data that a store keeps about the limit key "a" of the default queue, which has a queued job that is due, or about
// the queue itself.
type Damage struct {
	Name  string
	Queue bool               // the damage is to the queue itself
	Do    func(t *testing.T) // writes to the database directly, not by the store
}

// TestSweep tests a store that keeps data about lanes, which may differ from their jobs: it tests that the store repairs such damage. open returns
// an empty store, and damages to apply to it. The damage keeps the job from being claimed until Prune has repaired and reported it.
func TestSweep(t *testing.T, open func(t *testing.T) (job.Store, []Damage)) {
	store, damages := open(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range damages {
		t.Run(damages[i].Name, func(t *testing.T) {
			store, damages := open(t)
			f := &fixture{T: t, Store: store, ctx: t.Context()}
			defer f.Close()
			f.limit(job.Limits{Running: 3, EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}})
			next := laneInEachState(f)
			if got := f.pruned(); len(got) > 0 {
				t.Fatalf("repaired %+v without any damage", got)
			}
			d := damages[i]
			d.Do(t)
			if got := f.claim("w", 5); len(got) > 0 {
				t.Fatalf("claimed %v in spite of the damage", ids(got))
			}
			key := "a"
			if d.Queue {
				key = ""
			}
			got := f.pruned()
			if len(got) != 1 || got[0].Queue != job.DefaultQueue || got[0].Key != key || got[0].Wrong == "" {
				t.Fatalf("repaired %+v, want key %q", got, key)
			}
			f.due(next)
			if got := f.pruned(); len(got) > 0 {
				t.Errorf("repaired %+v once more", got)
			}
		})
	}
}

// laneInEachState inserts jobs with keys that are running, held, waiting for a time, and due. It returns the job of key "a", which may
// start.
func laneInEachState(f *fixture) *job.Job {
	f.Helper()
	f.insert(f.job(job.LimitKey("runs"), job.Priority(9)), f.job(job.LimitKey("runs")))
	f.claimOne("w")
	f.insert(f.job(job.LimitKey("held"), job.Priority(9)), f.job(job.LimitKey("held"), job.Priority(9)))
	f.finish(f.claimOne("w"), job.Discarded)
	f.insert(f.job(job.LimitKey("later"), job.In(time.Hour)))
	f.insert(f.job(job.LimitKey("throttled"), job.Priority(9)), f.job(job.LimitKey("throttled"), job.Priority(9)))
	j := f.claimOne("w")
	j.State = job.Completed
	if _, err := f.Settle(f.ctx, sessionOf("w"), job.Outcome{Job: j, Throttle: time.Hour}); err != nil {
		f.Fatal(err)
	}
	first, next := f.job(job.LimitKey("a"), job.Priority(9)), f.job(job.LimitKey("a"))
	f.insert(first, next)
	f.finish(f.claimOne("w"), job.Completed)
	f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Kinds: []string{"of none"}})
	return next
}

// checkLanes tests that Prune finds nothing to repair.
func (f *fixture) checkLanes() {
	f.Helper()
	if got := f.pruned(); len(got) > 0 {
		f.Errorf("repaired %+v, want nothing", got)
	}
}

// pruned calls Prune until it has checked all lanes, and returns the repairs.
func (f *fixture) pruned() (all []job.LaneRepair) {
	f.Helper()
	for range 3 {
		got, err := f.Prune(f.ctx, nil, 10)
		if err != nil {
			f.Fatalf("prune: %v", err)
		}
		all = append(all, got.Repaired...)
	}
	return slices.Clip(all)
}
