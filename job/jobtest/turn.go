package jobtest

import (
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var turnPromises = []promise{
	{"keys take turns, and one that waits alone gets all", func(f *fixture) {
		var a, b []*job.Job
		for range 8 {
			a, b = append(a, f.job(job.LimitKey("a"))), append(b, f.job(job.LimitKey("b")))
		}
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("a")))
		f.keys(4, "a", "a", "a", "a")
		f.insert(a...)
		f.insert(b...)
		f.keys(2, "a", "b")
		f.insert(f.job(job.LimitKey("c")))
		first := slices.Concat(f.take("w", 1), f.take("w", 1))
		if first[0].LimitKey == first[1].LimitKey || first[0].LimitKey == "c" || first[1].LimitKey == "c" {
			f.Errorf("claimed a job of key %q and one of %q, want one of each key that has waited longer than c", first[0].LimitKey, first[1].LimitKey)
		}
		f.keys(1, "c")
		f.keys(4, "a", "a", "b", "b")
		f.insert(f.job(), f.job())
		f.keys(3, "", "a", "b")
		f.keys(9, "", "a", "a", "a", "b", "b", "b")
	}},
	{"a job of a higher priority is claimed before the turns of others", func(f *fixture) {
		high := []*job.Job{f.job(job.LimitKey("a"), job.Priority(9)), f.job(job.LimitKey("a"), job.Priority(9)), f.job(job.LimitKey("a"), job.Priority(8))}
		low := []*job.Job{f.job(job.LimitKey("b")), f.job(job.LimitKey("a"), job.Priority(2)), f.job(job.Priority(1))}
		f.insert(low...)
		f.insert(high...)
		f.sameIDs("first", ids(f.take("w", 3)), ids(high))
		f.due(low...)
	}},
	{"of a key what is due longer is claimed first, and nothing before its time", func(f *fixture) {
		now := f.now()
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 1}})
		late := f.job(job.LimitKey("a"), job.At(now.Add(-time.Hour)))
		early := f.job(job.LimitKey("a"), job.At(now.Add(-2*time.Hour)))
		f.insert(late, early)
		got := f.claimOne("w")
		f.sameIDs("first", []job.ID{got.ID}, []job.ID{early.ID})
		f.finish(got, job.Completed)
		got = f.claimOne("w")
		f.finish(got, job.Completed)
		f.insert(f.job(job.LimitKey("a"), job.In(time.Hour)))
		claimed := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long})
		if len(claimed.Jobs) != 0 || (claimed.Next-time.Hour).Abs() > slack {
			f.Errorf("claimed %d jobs, the next in %v; want none, and an hour", len(claimed.Jobs), claimed.Next)
		}
		f.insert(f.job(job.LimitKey("b"), job.In(short)), f.job(job.LimitKey("a"), job.In(short), job.Priority(9)))
		f.eventually("the time of two keys", func() bool {
			return len(f.claim("w", 5)) > 0 && len(f.list(job.Filter{States: []job.State{job.Running}})) == 2
		})
	}},
	{"a key whose jobs are of other kinds holds up no others", func(f *fixture) {
		f.limit(job.Limits{Running: 5, EachKey: job.KeyLimits{Running: 2}})
		for range 8 {
			f.insert(f.kind("other", job.LimitKey("a"), job.Priority(8)), f.kind("other", job.LimitKey("b")), f.kind("other"))
		}
		want := []*job.Job{f.job(job.LimitKey("a")), f.job(job.LimitKey("b"), job.Priority(3)), f.job(job.Priority(1))}
		f.insert(want...)
		claim := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Kinds: []string{"k", "none"}}
		f.sameIDs("of the kind", ids(f.claimBy(claim).Jobs), ids(want))
		claim.Kinds = []string{"other"}
		if n := len(f.claimBy(claim).Jobs); n != 2 {
			f.Errorf("claimed %d of the other kind, want 2", n)
		}
	}},
	{"nothing is claimed from a paused queue with limits", func(f *fixture) {
		f.limit(job.Limits{Running: 5, EachKey: job.KeyLimits{Running: 1}})
		want := []*job.Job{f.insertNew(job.LimitKey("a"))}
		f.pauseQueue(job.DefaultQueue, true)
		f.due()
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 2}})
		f.due()
		f.pauseQueue(job.DefaultQueue, false)
		f.due(want...)
	}},
	{"the limit key of a job stays what it is", func(f *fixture) {
		const key = `tenant "7" <&> 'é'`
		j := f.insertNew(job.LimitKey(key), job.Meta("limit_key", "x"))
		for range 2 {
			held := f.claimOne("w")
			if held.LimitKey != key {
				f.Errorf("claimed with the key %q", held.LimitKey)
			}
			held.State = job.Queued
			f.settle("w", held)
		}
		f.apply(job.ActionDiscard, j.ID)
		if got := f.read(j.ID).LimitKey; got != key {
			f.Errorf("the key is %q", got)
		}
		if n := len(f.list(job.Filter{Meta: map[string]string{"limit_key": key}})); n != 0 {
			f.Error("the limit key is found by a search for meta")
		}
	}},
}

// keys claims n jobs and tests their limit keys, in any order.
func (f *fixture) keys(n int, want ...string) {
	f.Helper()
	var got []string
	for _, j := range f.claim("w", n) {
		got = append(got, j.LimitKey)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		f.Fatalf("claimed jobs of the keys %q, want %q", got, want)
	}
}
