package jobtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var overridePromises = []promise{
	{"limits of one key hold in place of those of each key, at once, until they are removed", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 1}})
		f.limitKey("a", job.KeyLimits{Running: 3})
		f.backlog("a", 9)
		f.backlog("b", 9)
		f.keys(9, "a", "a", "a", "b")
		f.limitKey("a", job.KeyLimits{Running: 4})
		f.limitKey("c", job.KeyLimits{Running: 7})
		held := f.take("w", 1)
		f.due()
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 2}})
		f.keys(9, "b")
		f.limitKey("a", job.KeyLimits{})
		f.finish(held[0], job.Completed)
		f.due()
		f.limitKey("a", job.KeyLimits{Weight: 1})
		f.keys(9, "a", "a", "a", "a", "a")
		f.limit(job.Limits{})
		f.keys(9, "b", "b", "b", "b", "b", "b", "b")
	}},
	{"limits of one key need none of the queue, and outlive those and its jobs", func(f *fixture) {
		f.limitKey("a", job.KeyLimits{Running: 1})
		f.backlog("a", 3)
		f.backlog("b", 3)
		f.insert(f.job())
		held := f.claim("w", 9)
		if len(held) != 5 {
			f.Fatalf("claimed %d jobs, want 5", len(held))
		}
		f.due()
		for _, j := range held {
			f.finish(j, job.Completed)
		}
		f.finish(f.claimOne("w"), job.Completed)
		f.finish(f.claimOne("w"), job.Completed)
		f.limit(job.Limits{Running: 5})
		f.limit(job.Limits{})
		f.remove(ids(f.list(job.Filter{}))...)
		f.backlog("a", 2)
		f.take("w", 1)
		f.due()
		f.overrides("", 9, job.Override{Key: "a", KeyLimits: job.KeyLimits{Running: 1}})
	}},
	{"a rate of one key is its own, and begins with its whole burst when it is new", func(f *fixture) {
		hourly := job.Rate{N: 1, Per: time.Hour, Burst: 2}
		f.limit(job.Limits{EachKey: job.KeyLimits{Starts: hourly}})
		f.limitKey("a", job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 4}})
		f.backlog("a", 20)
		f.backlog("b", 20)
		f.keys(20, "a", "a", "a", "a", "b", "b")
		f.limit(job.Limits{EachKey: job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 3}}}) // does not apply to key a
		f.keys(20, "b", "b", "b")
		f.limitKey("a", job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 4}, Running: 100})
		f.due() // the rate has not changed
		f.nextIn(time.Hour)
		f.limitKey("a", job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 5}})
		f.keys(20, "a", "a", "a", "a", "a")
		f.limitKey("a", job.KeyLimits{})
		f.keys(20, "a", "a", "a")
		f.due()
	}},
	{"units of one key are its own, also what is booked when a job is settled", func(f *fixture) {
		f.limitKey("a", job.KeyLimits{Units: unitAnHour})
		f.insert(f.job(job.LimitKey("a"), job.Cost(60)), f.job(job.LimitKey("b"), job.Cost(1000)), f.job(job.LimitKey("b"), job.Cost(1000)), f.job(job.Cost(1000)))
		var a *job.Job
		for _, j := range f.take("w", 4) {
			if j.LimitKey == "a" {
				a = j
			}
		}
		f.insert(f.job(job.LimitKey("a"), job.Cost(10)))
		a.State = job.Completed
		f.settleThrottled("w", nil, job.Outcome{Job: a, Units: 70})
		f.nextIn(31 * time.Hour)
		f.used("a", job.LimitUse{Own: job.KeyLimits{Units: unitAnHour}, Overrides: 1, QueueRunning: 3, KeyUnits: 31 * time.Hour})
		f.limit(job.Limits{EachKey: job.KeyLimits{Units: unitAnHour}}) // key b has used none of it yet
		f.limitKey("a", job.KeyLimits{Units: job.Rate{N: 100, Per: 100 * time.Hour, Burst: 50}})
		f.insert(f.job(job.LimitKey("a"), job.Cost(60)), f.job(job.LimitKey("a")), f.job(job.LimitKey("b"), job.Cost(60)), f.job(job.LimitKey("b"), job.Cost(60)), f.job(job.LimitKey("b")))
		f.keys(9, "a", "a", "b", "b")
		f.nextIn(21 * time.Hour)
	}},
	{"limits of one key leave the order of its jobs as it is", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{InOrder: true}})
		f.limitKey("a", job.KeyLimits{Running: 5, Weight: 3})
		first := f.insertNew(job.LimitKey("a"), job.Priority(1))
		f.insertNew(job.LimitKey("a"), job.Priority(9))
		got := f.claimOne("w")
		f.sameIDs("first", []job.ID{got.ID}, []job.ID{first.ID})
		f.due()
		f.limit(job.Limits{})
		f.take("w", 1)
	}},
	{"the limits of one key are returned with how far they are used", func(f *fixture) {
		own := job.KeyLimits{Running: 3, Starts: job.Rate{N: 1, Per: time.Minute, Burst: 2}, Weight: 7}
		f.limitKey("a", own)
		f.limitKey("c", job.KeyLimits{Running: 1})
		f.used("a", job.LimitUse{Own: own, Overrides: 2})
		l := job.Limits{EachKey: job.KeyLimits{Running: 9, Starts: job.Rate{N: 1, Per: time.Hour}, Weight: 2}}
		f.limit(l)
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("b")))
		f.take("w", 3)
		f.used("a", job.LimitUse{Limits: l, Own: own, Overrides: 2, QueueRunning: 3, KeyRunning: 2, KeyNext: time.Minute})
		f.used("b", job.LimitUse{Limits: l, Overrides: 2, QueueRunning: 3, KeyRunning: 1, KeyNext: time.Hour})
		f.used("", job.LimitUse{Limits: l, Overrides: 2, QueueRunning: 3})
		f.limitKey("a", job.KeyLimits{})
		f.limitKey("none", job.KeyLimits{})
		f.used("a", job.LimitUse{Limits: l, Overrides: 1, QueueRunning: 3, KeyRunning: 2})
		f.queues(job.QueueInfo{Name: job.DefaultQueue, Running: 3})
	}},
	{"the limits of single keys are listed in pages, by key", func(f *fixture) {
		f.overrides("", 9)
		var want []job.Override
		for i, key := range []string{"!", "A", "a b", "a\u2028b", "b", "tenant-10", "tenant-9", "é"} { // in the order of their bytes
			want = append(want, job.Override{Key: key, KeyLimits: job.KeyLimits{
				Running: i, Weight: 1 + i, Starts: job.Rate{N: 1 + i, Per: time.Minute, Burst: i}, Units: job.Rate{N: 5, Per: time.Hour},
			}})
		}
		for _, i := range []int{3, 7, 0, 1, 5, 2, 6, 4} {
			f.limitKey(want[i].Key, want[i].KeyLimits)
		}
		if err := f.SetKeyLimits(f.ctx, "other", "a", job.KeyLimits{Running: 1}); err != nil {
			f.Fatal(err)
		}
		f.overrides("", 100, want...)
		f.overrides("", 3, want[:3]...)
		f.overrides(want[2].Key, 4, want[3:7]...)
		f.overrides("tenant", 100, want[5:]...)
		f.overrides(want[7].Key, 100)
		f.limitKey("b", job.KeyLimits{})
		f.overrides("a b", 2, want[3], want[5])
	}},
	{"limits of one key that are out of their range are refused", func(f *fixture) {
		for _, l := range []job.KeyLimits{
			{Running: -1}, {Starts: job.Rate{N: 1}}, {Units: job.Rate{N: 1}}, {Weight: -1}, {Weight: job.MaxWeight + 1}, {InOrder: true},
		} {
			if err := f.SetKeyLimits(f.ctx, job.DefaultQueue, "a", l); err == nil {
				f.Errorf("the limits %+v were set", l)
			}
		}
		for _, key := range []string{"", "a\nb", "\xff", strings.Repeat("x", job.MaxLimitKey+1)} {
			if err := f.SetKeyLimits(f.ctx, job.DefaultQueue, key, job.KeyLimits{Running: 1}); err == nil {
				f.Errorf("limits of key %.20q were set", key)
			}
		}
		if err := f.SetKeyLimits(f.ctx, "", "a", job.KeyLimits{Running: 1}); err == nil {
			f.Error("limits of a key of a queue without a name were set")
		}
		if err := f.SetLimits(f.ctx, job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Weight: job.MaxWeight + 1}}); err == nil {
			f.Error("a weight of each key that is too large was set")
		}
		f.used("a", job.LimitUse{})
	}},
	{"wait returns when limits of a key allow more", func(f *fixture) {
		f.limitKey("a", job.KeyLimits{Running: 1})
		f.backlog("a", 3)
		j := f.claimOne("w")
		f.wakes(func() { f.finish(j, job.Completed) })
		f.wakes(func() { f.limitKey("a", job.KeyLimits{Running: 3}) })
		f.wakes(func() { f.limitKey("a", job.KeyLimits{}) })
	}},
}

// limitKey sets limits of a key of the default queue.
func (f *fixture) limitKey(key string, l job.KeyLimits) {
	f.Helper()
	if err := f.SetKeyLimits(f.ctx, job.DefaultQueue, key, l); err != nil {
		f.Fatalf("set limits of key %s: %v", key, err)
	}
}

// overrides tests which keys of the default queue are listed with limits of their own.
func (f *fixture) overrides(after string, n int, want ...job.Override) {
	f.Helper()
	got, err := f.Overrides(f.ctx, job.DefaultQueue, after, n)
	if err != nil {
		f.Fatalf("limits of keys: %v", err)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		f.Errorf("the limits of at most %d keys after %q are %q, want %q", n, after, got, want)
	}
}
