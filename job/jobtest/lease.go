package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var leasePromises = []promise{
	{"an expired lease is claimed when asked for", func(f *fixture) {
		first := f.insertLeased("dead", short)
		time.Sleep(3 * short)
		if got := f.claim("w", 10); len(got) != 0 {
			f.Fatalf("claim without Expired took %v", ids(got))
		}
		var claimed job.Claimed
		f.eventually("a claim of the expired job", func() bool {
			claimed = f.claimBy(job.Claim{Worker: "w", Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true})
			return len(claimed.Jobs) > 0
		})
		if len(claimed.Jobs) != 1 || len(claimed.Expired) != 1 || claimed.Expired[first.ID] != "dead" {
			f.Fatalf("claimed %v, expired %v, want %v of dead", ids(claimed.Jobs), claimed.Expired, first.ID)
		}
		got := claimed.Jobs[0]
		if got.ID != first.ID || got.State != job.Running || got.Attempt != 2 || got.Died != 1 || got.Worker != "w" {
			f.Errorf("claimed %+v", got)
		}
		f.sameTime("due", got.RunAt, first.RunAt)
		if !got.Started.After(first.Started) {
			f.Errorf("started at %v, want after %v", got.Started, first.Started)
		}
		if stored := f.look(first.ID); stored.Died != 1 || stored.Attempt != 2 {
			f.Errorf("stored %+v", stored)
		}
	}},
	{"a lease that has not run out is left alone", func(f *fixture) {
		f.insertLeased("w", long)
		time.Sleep(2 * short)
		got := f.claimBy(job.Claim{Worker: "x", Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true})
		if len(got.Jobs) != 0 || len(got.Expired) != 0 {
			f.Errorf("claimed %v, expired %v", ids(got.Jobs), got.Expired)
		}
	}},
	{"jobs with expired leases come first, and within the limits", func(f *fixture) {
		a := f.insertLeased("dead", short)
		b := f.insertLeased("dead", short)
		due := f.insertNew(job.Priority(9))
		time.Sleep(3 * short)
		f.eventually("two expired leases", func() bool { return f.expired(a.ID, b.ID) })
		c := job.Claim{Worker: "w", Queues: queues(5, job.DefaultQueue), Limit: 1, Lease: long, Expired: true}
		var got []job.ID
		for range 2 {
			got = append(got, ids(f.claimBy(c).Jobs)...)
		}
		f.sameIDs("claimed first", sorted(got), sorted([]job.ID{a.ID, b.ID}))
		c.Queues[0].Limit, c.Limit = 1, 5
		f.sameIDs("claimed then", ids(f.claimBy(c).Jobs), []job.ID{due.ID})
	}},
	{"an expired lease of another queue or a paused one is left alone", func(f *fixture) {
		f.insertLeased("dead", short)
		time.Sleep(3 * short)
		c := job.Claim{Worker: "w", Queues: queues(5, "other"), Limit: 5, Lease: long, Expired: true}
		if got := f.claimBy(c); len(got.Jobs) != 0 {
			f.Errorf("claimed %v of a queue that was not named", ids(got.Jobs))
		}
		f.pauseQueue(job.DefaultQueue, true)
		c.Queues = queues(5, job.DefaultQueue)
		if got := f.claimBy(c); len(got.Jobs) != 0 {
			f.Errorf("claimed %v of a paused queue", ids(got.Jobs))
		}
		f.pauseQueue(job.DefaultQueue, false)
		f.claimExpired("w")
	}},
	{"who lost a lease cannot settle", func(f *fixture) {
		old := f.insertLeased("a", short)
		now := f.claimExpired("b")
		for _, state := range []job.State{job.Running, job.Queued, job.Completed, job.Canceled, job.Discarded} {
			stale := *old
			stale.State, stale.Result = state, []byte(`"stale"`)
			f.settleLosing("a", []job.ID{old.ID}, &stale)
		}
		if got := f.look(old.ID); got.State != job.Running || got.Worker != "b" || got.Result != nil {
			f.Errorf("a stale settle made it %+v", got)
		}
		f.finish(now, job.Completed)
	}},
	{"a worker that lost a lease to itself cannot settle the old attempt", func(f *fixture) {
		old := f.insertLeased("a", short)
		now := f.claimExpired("a")
		old.State = job.Completed
		f.settleLosing("a", []job.ID{old.ID}, old)
		f.state(old.ID, job.Running)
		f.finish(now, job.Completed)
	}},
	{"a lease that ran out can be settled until the job is claimed", func(f *fixture) {
		j := f.insertLeased("a", short)
		time.Sleep(3 * short)
		f.finish(j, job.Completed)
		f.state(j.ID, job.Completed)
	}},
	{"an expired job is claimed again and again", func(f *fixture) {
		j := f.insertLeased("a", short)
		for want := 1; want <= 3; want++ {
			f.eventually("the lease to run out", func() bool {
				return len(f.claimBy(job.Claim{Worker: "b", Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: short, Expired: true}).Jobs) == 1
			})
			if got := f.look(j.ID); got.Died != want || got.Attempt != want+1 {
				f.Errorf("died %d times in %d attempts, want %d in %d", got.Died, got.Attempt, want, want+1)
			}
		}
	}},
}

// insertLeased makes a job that worker holds for a time.
func (f *fixture) insertLeased(worker string, lease time.Duration) *job.Job {
	f.Helper()
	j := f.insertNew()
	claimed := f.claimBy(job.Claim{Worker: worker, Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: lease})
	f.sameIDs("claimed", ids(claimed.Jobs), []job.ID{j.ID})
	return claimed.Jobs[0]
}

// expired reports whether the leases of these jobs have run out, going by when they were claimed.
func (f *fixture) expired(ids ...job.ID) bool {
	f.Helper()
	probe := f.insertNew(job.Queue("probe"), job.In(short))
	f.eventually("the clock of the store", func() bool {
		got := f.claimBy(job.Claim{Worker: "probe", Queues: queues(1, "probe"), Limit: 1, Lease: long})
		return len(got.Jobs) == 1
	})
	now := f.look(probe.ID).Started
	for _, id := range ids {
		if now.Sub(f.look(id).Started) <= short {
			return false
		}
	}
	return true
}
