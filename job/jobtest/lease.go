package jobtest

import (
	"fmt"
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
			claimed = f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true})
			return len(claimed.Jobs) > 0
		})
		if len(claimed.Jobs) != 1 || len(claimed.Expired) != 1 || claimed.Expired[first.ID] != "dead" {
			f.Fatalf("claimed %v, expired %v, want %v of dead", ids(claimed.Jobs), claimed.Expired, first.ID)
		}
		got := claimed.Jobs[0]
		if got.ID != first.ID || got.State != job.Running || got.Attempt != 2 || got.Crashed != 1 || got.Worker != "w" {
			f.Errorf("claimed %+v", got)
		}
		f.sameTime("due", got.RunAt, first.RunAt)
		if !got.Started.After(first.Started) {
			f.Errorf("started at %v, want after %v", got.Started, first.Started)
		}
		if stored := f.read(first.ID); stored.Crashed != 1 || stored.Attempt != 2 {
			f.Errorf("stored %+v", stored)
		}
	}},
	{"a lease that has not run out is left alone", func(f *fixture) {
		f.insertLeased("w", long)
		time.Sleep(2 * short)
		got := f.claimBy(job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true})
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
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 1, Lease: long, Expired: true}
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
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "other"), Limit: 5, Lease: long, Expired: true}
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
		if got := f.read(old.ID); got.State != job.Running || got.Worker != "b" || got.Result != nil {
			f.Errorf("a stale settle made it %+v", got)
		}
		f.finish(now, job.Completed)
	}},
	{"a worker that lost a lease to itself cannot settle the old attempt", func(f *fixture) {
		old := f.insertLeased("a", long)
		f.drop("a", old.ID)
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
	{"one lease holds all jobs of a session, and no others", func(f *fixture) {
		a, b := f.insertLeased("w", short), f.insertLeased("w", short)
		other := f.insertLeased("other", short)
		f.renew("w", long)
		time.Sleep(3 * short)
		f.eventually("the other lease to run out", func() bool { return f.expired(other.ID) })
		c := job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true}
		f.sameIDs("claimed", ids(f.claimBy(c).Jobs), []job.ID{other.ID})
		f.renew("w", short)
		var got []job.ID
		f.eventually("the lease to run out", func() bool {
			got = append(got, ids(f.claimBy(c).Jobs)...)
			return len(got) >= 2
		})
		f.sameIDs("claimed", sorted(got), sorted([]job.ID{a.ID, b.ID}))
	}},
	{"a claim leaves the lease of a session that is under way as it is", func(f *fixture) {
		f.insertLeased("w", long)
		f.insertLeased("w", short)
		time.Sleep(3 * short)
		c := job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true}
		f.sameIDs("claimed", ids(f.claimBy(c).Jobs), nil)
	}},
	{"two sessions of one name hold their own jobs", func(f *fixture) {
		first := f.insertLeased("w", long)
		second := f.insertNew()
		mine := job.Session(42)
		f.sameIDs("claimed", ids(f.claimBy(job.Claim{Worker: "w", Session: mine, Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long}).Jobs), []job.ID{second.ID})
		f.requestCancel(first.ID)
		renewed, err := f.Renew(f.ctx, job.Renewal{Worker: "w", Session: mine, Lease: long, Jobs: []job.ID{first.ID, second.ID}})
		if err != nil {
			f.Fatalf("renew: %v", err)
		}
		f.sameIDs("lost", renewed.Lost, []job.ID{first.ID})
		f.sameIDs("canceled", renewed.Canceled, nil)
		first.State = job.Completed
		lost, err := f.Settle(f.ctx, mine, job.Outcomes(first)...)
		if err != nil {
			f.Fatalf("settle: %v", err)
		}
		f.sameIDs("lost by settling", lost, []job.ID{first.ID})
		if err := f.Leave(f.ctx, "w", mine); err != nil {
			f.Fatalf("leave: %v", err)
		}
		f.settle("w", first)
	}},
	{"what a session holds when it leaves can be claimed at once", func(f *fixture) {
		j := f.insertLeased("w", long)
		if err := f.Leave(f.ctx, "w", sessionOf("w")); err != nil {
			f.Fatalf("leave: %v", err)
		}
		got := f.claimBy(job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true})
		f.sameIDs("claimed", ids(got.Jobs), []job.ID{j.ID})
		if got.Expired[j.ID] != "w" || got.Jobs[0].Crashed != 1 {
			f.Errorf("taken from %q, crashed %d times, want w and 1", got.Expired[j.ID], got.Jobs[0].Crashed)
		}
	}},
	{"a job that its session drops can be claimed at once", func(f *fixture) {
		j, kept := f.insertLeased("w", long), f.insertLeased("w", long)
		f.drop("x", kept.ID) // x does not hold it
		f.drop("w", j.ID)
		got := f.claimBy(job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true})
		f.sameIDs("claimed", ids(got.Jobs), []job.ID{j.ID})
		j.State = job.Completed
		f.settleLosing("w", []job.ID{j.ID}, j)
		f.finish(kept, job.Completed)
	}},
	{"what a claim without an answer has taken is given again", func(f *fixture) {
		known := f.insertLeased("w", long)
		low, high := f.insertNew(job.Meta("a", "b")), f.insertNew(job.Priority(9))
		claim := func(call, since int64, limit int) []*job.Job {
			f.Helper()
			return f.claimBy(job.Claim{
				Worker: "w", Session: sessionOf("w"), Queues: queues(limit, job.DefaultQueue), Limit: limit, Lease: long, Call: call, Since: since,
			}).Jobs
		}
		f.sameIDs("claimed by call 1", ids(claim(1, 0, 1)), []job.ID{high.ID})
		f.sameIDs("claimed by call 2", ids(claim(2, 0, 1)), []job.ID{low.ID})
		more := f.insertNew()
		again := claim(3, 1, 3)
		f.sameIDs("claimed again by call 3", ids(again), []job.ID{high.ID, low.ID, more.ID})
		for i, j := range again {
			if j.Attempt != 1 || j.Crashed != 0 || j.State != job.Running || j.Worker != "w" || j.Started.IsZero() {
				f.Errorf("job %d is given again as %+v", i, j)
			}
		}
		if again[1].Meta["a"] != "b" || string(again[1].Args) != string(low.Args) {
			f.Errorf("given again as %+v", again[1])
		}
		again[0].State = job.Completed
		f.settle("w", again[0])
		f.sameIDs("claimed again by call 4, with room for one", ids(claim(4, 2, 1)), []job.ID{low.ID, more.ID})
		f.sameIDs("claimed by call 5", ids(claim(5, 0, 5)), nil)
		known.State = job.Completed
		f.settle("w", known)
	}},
	{"a claim after one without an answer sets the lease anew", func(f *fixture) {
		const lease = 2 * time.Second // long enough for several stores on a busy machine to answer
		j := f.insertNew()
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: lease, Call: 1}
		f.sameIDs("claimed by call 1", ids(f.claimBy(c).Jobs), []job.ID{j.ID})
		c.Call, c.Since, c.Lease = 2, 1, long
		f.sameIDs("claimed by call 2", ids(f.claimBy(c).Jobs), []job.ID{j.ID})
		time.Sleep(lease + 2*pause)
		x := job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long, Expired: true}
		f.sameIDs("claimed by x", ids(f.claimBy(x).Jobs), nil)
	}},
	{"a claim that comes after one which missed its answer takes nothing", func(f *fixture) {
		f.insertLeased("w", long)
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true, Call: 2, Since: 1}
		f.sameIDs("claimed by call 2", ids(f.claimBy(c).Jobs), nil)
		dead := f.insertLeased("dead", 1)
		j := f.insertNew()
		time.Sleep(2 * pause)
		c.Call, c.Since = 1, 0
		f.sameIDs("claimed by call 1, late", ids(f.claimBy(c).Jobs), nil)
		c.Call = 3
		got := ids(f.claimBy(c).Jobs)
		f.sameIDs("claimed by call 3", sorted(got), sorted([]job.ID{j.ID, dead.ID}))
	}},
	{"an expired job is claimed again and again", func(f *fixture) {
		j := f.insertLeased("a", short)
		for want := 1; want <= 3; want++ {
			f.eventually("the lease to run out", func() bool {
				worker := fmt.Sprint("b", want)
				return len(f.claimBy(job.Claim{Worker: worker, Session: sessionOf(worker), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: short, Expired: true}).Jobs) == 1
			})
			if got := f.read(j.ID); got.Crashed != want || got.Attempt != want+1 {
				f.Errorf("crashed %d times in %d attempts, want %d in %d", got.Crashed, got.Attempt, want, want+1)
			}
		}
	}},
}

// insertLeased makes a job that worker holds for a time, if the claim starts its session.
func (f *fixture) insertLeased(worker string, lease time.Duration) *job.Job {
	f.Helper()
	j := f.insertNew()
	claimed := f.claimBy(job.Claim{Worker: worker, Session: sessionOf(worker), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: lease})
	f.sameIDs("claimed", ids(claimed.Jobs), []job.ID{j.ID})
	return claimed.Jobs[0]
}

// drop has a worker give up jobs.
func (f *fixture) drop(worker string, ids ...job.ID) {
	f.Helper()
	if _, err := f.Renew(f.ctx, job.Renewal{Worker: worker, Session: sessionOf(worker), Lease: long, Drop: ids}); err != nil {
		f.Fatalf("renew: %v", err)
	}
}

// expired reports whether the leases of these jobs have expired, calculated from when they were claimed.
func (f *fixture) expired(ids ...job.ID) bool {
	f.Helper()
	probe := f.insertNew(job.Queue("probe"), job.In(short))
	f.eventually("the clock of the store", func() bool {
		got := f.claimBy(job.Claim{Worker: "probe", Session: sessionOf("probe"), Queues: queues(1, "probe"), Limit: 1, Lease: long})
		return len(got.Jobs) == 1
	})
	now := f.read(probe.ID).Started
	for _, id := range ids {
		if now.Sub(f.read(id).Started) <= short {
			return false
		}
	}
	return true
}
