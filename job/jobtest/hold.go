package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var holdPromises = []promise{
	{"a discarded job holds those of its key behind it", func(f *fixture) {
		f.holdOnDiscard()
		for name, discard := range map[string]func() job.ID{
			"settled": func() job.ID {
				j := f.claimOne("w")
				f.finish(j, job.Discarded)
				return j.ID
			},
			"settled with its failures": func() job.ID {
				j := f.claimOne("w")
				j.Failures = []job.Failure{{Attempt: 1, Error: "no"}} // stores write such a job by another statement
				f.finish(j, job.Discarded)
				return j.ID
			},
			"its lease ran out": func() job.ID {
				f.claimBy(job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: short})
				j := f.claimExpired("v")
				f.finish(j, job.Discarded)
				return j.ID
			},
			"by hand": func() job.ID {
				id := f.first().ID
				f.apply(job.ActionDiscard, id)
				return id
			},
		} {
			first := f.insertNew(job.LimitKey("a"), job.Priority(9))
			behind := []*job.Job{f.insertNew(job.LimitKey("a"), job.Priority(9)), f.insertNew(job.LimitKey("a"))}
			id := discard()
			if id != first.ID {
				f.Fatalf("%s: discarded %v, want %v", name, id, first.ID)
			}
			f.used("a", job.LimitUse{Limits: held, KeyFirst: behind[0].ID, KeyDiscarded: first.ID})
			f.due()
			for _, j := range f.list(job.Filter{}) {
				f.remove(j.ID)
			}
		}
	}},
	{"a discarded job holds no other key", func(f *fixture) {
		f.holdOnDiscard()
		f.insert(f.job(job.LimitKey("a"), job.Priority(9)), f.job(job.LimitKey("a"), job.Priority(9)))
		f.finish(f.claimOne("w"), job.Discarded)
		others := []*job.Job{f.insertNew(job.LimitKey("b")), f.insertNew()}
		f.sameIDs("others", sorted(ids(f.take("w", 2))), sorted(ids(others)))
		f.due()
		f.used("b", job.LimitUse{Limits: held, QueueRunning: 2, KeyRunning: 1})
	}},
	{"a discarded job that is retried runs first, and then its key goes on", func(f *fixture) {
		f.holdOnDiscard()
		first, behind := f.insertNew(job.LimitKey("a")), f.insertNew(job.LimitKey("a"), job.Priority(9))
		f.finish(f.claimOne("w"), job.Discarded)
		f.due()
		f.wakes(func() { f.apply(job.ActionRetry, first.ID) })
		f.used("a", job.LimitUse{Limits: held, KeyFirst: first.ID})
		j := f.claimOne("w")
		f.sameIDs("at first", []job.ID{j.ID}, []job.ID{first.ID})
		f.due()
		f.finish(j, job.Discarded)
		f.due()
		f.apply(job.ActionRetry, first.ID)
		f.finish(f.claimOne("w"), job.Completed)
		f.due(behind)
	}},
	{"a discarded job that is deleted, or pruned, lets its key go on", func(f *fixture) {
		f.holdOnDiscard()
		for name, remove := range map[string]func(id job.ID){
			"deleted": func(id job.ID) { f.wakes(func() { f.remove(id) }) },
			"pruned": func(id job.ID) {
				time.Sleep(2 * pause)
				f.prune(1, map[job.State]time.Duration{job.Discarded: 0}, 10)
			},
		} {
			first, behind := f.insertNew(job.LimitKey("a")), f.insertNew(job.LimitKey("a"))
			f.finish(f.claimOne("w"), job.Discarded)
			f.due()
			remove(first.ID)
			f.used("a", job.LimitUse{Limits: held, KeyFirst: behind.ID})
			got := f.claim("w", 5)
			if len(got) != 1 || got[0].ID != behind.ID {
				f.Fatalf("%s: claimed %v, want %v", name, ids(got), behind.ID)
			}
			f.finish(got[0], job.Completed)
		}
	}},
	{"each discarded job holds those behind it, and not those before it", func(f *fixture) {
		f.holdOnDiscard()
		var a []*job.Job
		for range 6 {
			a = append(a, f.insertNew(job.LimitKey("a")))
		}
		f.apply(job.ActionDiscard, a[3].ID)
		f.apply(job.ActionDiscard, a[1].ID)
		f.used("a", job.LimitUse{Limits: held, KeyFirst: a[0].ID})
		f.finish(f.claimOne("w"), job.Completed)
		f.due()
		f.used("a", job.LimitUse{Limits: held, KeyFirst: a[2].ID, KeyDiscarded: a[1].ID})
		f.remove(a[1].ID)
		j := f.claimOne("w")
		f.sameIDs("between the two", []job.ID{j.ID}, []job.ID{a[2].ID})
		f.finish(j, job.Completed)
		f.due()
		f.used("a", job.LimitUse{Limits: held, KeyFirst: a[4].ID, KeyDiscarded: a[3].ID})
		f.remove(a[4].ID, a[5].ID)
		f.used("a", job.LimitUse{Limits: held, KeyDiscarded: a[3].ID})
		late := f.insertNew(job.LimitKey("a"))
		f.due()
		f.apply(job.ActionRetry, a[3].ID)
		f.finish(f.claimOne("w"), job.Completed)
		f.due(late)
	}},
	{"a key in order is held as long as that is set, by what was discarded since", func(f *fixture) {
		f.inOrder()
		for range 5 {
			f.insert(f.job(job.LimitKey("a")))
		}
		f.finish(f.claimOne("w"), job.Discarded)
		f.holdOnDiscard()
		f.finish(f.claimOne("w"), job.Discarded)
		f.due()
		f.wakes(func() { f.inOrder() })
		f.finish(f.claimOne("w"), job.Discarded)
		f.holdOnDiscard()
		f.finish(f.claimOne("w"), job.Completed)
		f.limit(job.Limits{Running: 9, EachKey: held.EachKey})
		f.finish(f.claimOne("w"), job.Discarded)
		f.limit(job.Limits{Running: 8, EachKey: held.EachKey})
		f.insert(f.job(job.LimitKey("a")))
		f.due()
	}},
	{"what was discarded before the limits were removed holds nothing when they are set again", func(f *fixture) {
		f.holdOnDiscard()
		f.insert(f.job(job.LimitKey("a")))
		f.finish(f.claimOne("w"), job.Discarded)
		f.limit(job.Limits{})
		f.checkLanes() // prunes all that stores keep about the limits
		f.holdOnDiscard()
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")))
		f.finish(f.claimOne("w"), job.Discarded)
		f.due()
	}},
	{"a job that is moved, or ends otherwise, holds nothing", func(f *fixture) {
		f.holdOnDiscard()
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("a")))
		j := f.claimOne("w")
		j.State, j.Queue = job.Queued, "elsewhere"
		f.settle("w", j)
		f.finish(f.claimOne("w"), job.Canceled)
		f.finish(f.claimOne("w"), job.Completed)
		moved := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, "elsewhere"), Limit: 1, Lease: long}).Jobs[0]
		f.finish(moved, job.Discarded)
		f.claimOne("w")
	}},
}

// held are limits with which a discarded job holds its key.
var held = job.Limits{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}}

func (f *fixture) holdOnDiscard() {
	f.Helper()
	f.limit(held)
}
