package jobtest

import (
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var limitPromises = []promise{
	{"no more jobs of a queue run than its limit", func(f *fixture) {
		f.limit(job.Limits{Running: 2})
		f.insert(f.job(), f.job(), f.job(job.LimitKey("a")), f.job(job.LimitKey("b")), f.job(job.LimitKey("b")))
		other := f.insertNew(job.Queue("other"), job.LimitKey("a"))
		held := f.take("w", 2)
		f.due()
		f.sameIDs("of another queue", ids(f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue, "other"), Limit: 5, Lease: long}).Jobs), ids([]*job.Job{other}))
		f.finish(held[0], job.Completed)
		f.take("w", 1)
		f.due()
	}},
	{"no more jobs of a key run than its limit, which holds up no others", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 2}})
		var a []*job.Job
		for range 20 {
			a = append(a, f.job(job.LimitKey("a"), job.Priority(9)))
		}
		f.insert(a...)
		held := f.take("w", 2)
		f.sameIDs("of the key", ids(held), ids(a[:2]))
		rest := []*job.Job{f.job(job.LimitKey("b")), f.job(), f.job(), f.job()}
		f.insert(rest...)
		f.sameIDs("of others", sorted(ids(f.take("w", 4))), sorted(ids(rest)))
		f.due()
		f.finish(held[0], job.Completed)
		f.due(a[2])
	}},
	{"a job gives its room back once, whatever becomes of it", func(f *fixture) {
		for name, end := range f.ends() {
			for _, l := range []job.Limits{{Running: 1}, {EachKey: job.KeyLimits{Running: 1}}} {
				f.limit(l)
				f.insert(f.job(job.LimitKey("k"), job.Priority(9)))
				j := f.claimOne("w")
				next := []*job.Job{f.job(job.LimitKey("k")), f.job(job.LimitKey("k"))}
				f.insert(next...)
				if got := f.claim("w", 5); len(got) != 0 {
					f.Fatalf("%s: claimed %d while a job is running", name, len(got))
				}
				end(j)
				for i := range next {
					if n := len(f.claim("w", 5)); i == 0 && n != 1 || i > 0 && n != 0 {
						f.Fatalf("%s: claim %d after the end of a job took %d", name, i+1, n)
					}
				}
				for _, left := range f.list(job.Filter{}) {
					if left.State == job.Running {
						f.finish(left, job.Completed)
					}
					f.remove(left.ID)
				}
			}
		}
	}},
	{"a lost settle gives no room back", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 1}})
		f.insert(f.job(job.LimitKey("k")), f.job(job.LimitKey("k")))
		j := f.claimOne("w")
		stale := *j
		stale.State = job.Completed
		f.settleLosing("another", []job.ID{j.ID}, &stale)
		stale.Attempt--
		f.settleLosing("w", []job.ID{j.ID}, &stale)
		f.due()
		f.finish(j, job.Completed)
		f.settleLosing("w", []job.ID{j.ID}, j)
		f.take("w", 1)
		f.due()
	}},
	{"a job whose lease has run out keeps its room, and is claimed again in it", func(f *fixture) {
		f.limit(job.Limits{Running: 1, Starts: job.Rate{N: 1, Per: time.Hour}, EachKey: job.KeyLimits{Running: 1, Starts: job.Rate{N: 1, Per: time.Hour}}})
		f.insert(f.job(job.LimitKey("k"), job.Priority(9)))
		j := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: short}).Jobs[0]
		f.insertNew(job.LimitKey("k"))
		again := f.claimExpired("v")
		if again.ID != j.ID {
			f.Fatalf("claimed %v, want %v, whose lease ran out", again.ID, j.ID)
		}
		f.due()
	}},
	{"limits are raised, lowered and removed at once", func(f *fixture) {
		for range 12 {
			f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("b")))
		}
		f.limit(job.Limits{Running: 3, EachKey: job.KeyLimits{Running: 2}})
		held := f.take("w", 3)
		f.due()
		f.limit(job.Limits{Running: 5, EachKey: job.KeyLimits{Running: 2}})
		held = append(held, f.take("w", 1)...)
		f.due()
		f.limit(job.Limits{Running: 5, EachKey: job.KeyLimits{Running: 3}})
		held = append(held, f.take("w", 1)...)
		f.limit(job.Limits{Running: 2})
		for _, j := range held[:3] {
			f.finish(j, job.Completed)
			f.due()
		}
		f.finish(held[3], job.Completed)
		f.take("w", 1)
		f.due()
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 1, Starts: job.Rate{N: 1, Per: time.Hour}}})
		f.claim("w", 2)
		f.due()
		f.limit(job.Limits{})
		if n := len(f.claim("w", 100)); n == 0 || len(f.list(job.Filter{States: []job.State{job.Queued}})) != 0 {
			f.Errorf("without limits only %d jobs were claimed, want all", n)
		}
	}},
	{"limits are returned, with how far they are used", func(f *fixture) {
		f.used("a", job.LimitUse{})
		l := job.Limits{
			Running: 7, Starts: job.Rate{N: 2, Per: time.Hour, Burst: 4},
			EachKey: job.KeyLimits{Running: 3, Starts: job.Rate{N: 1, Per: time.Minute, Burst: 2}},
		}
		f.limit(l)
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("b")), f.job())
		f.used("a", job.LimitUse{Limits: l})
		f.take("w", 4)
		f.used("a", job.LimitUse{Limits: l, QueueRunning: 4, KeyRunning: 2, QueueNext: time.Hour / 2, KeyNext: time.Minute})
		f.used("b", job.LimitUse{Limits: l, QueueRunning: 4, KeyRunning: 1, QueueNext: time.Hour / 2})
		f.used("", job.LimitUse{Limits: l, QueueRunning: 4, QueueNext: time.Hour / 2})
		f.queues(job.QueueInfo{Name: job.DefaultQueue, Running: 4})
	}},
	{"limits are returned of several keys at once, in their order", func(f *fixture) {
		if none := f.uses(); len(none) != 0 {
			f.Errorf("for no keys, the limits are %+v", none)
		}
		f.isUse(f.uses("a", "a")[1], job.LimitUse{})
		l := job.Limits{Running: 9, EachKey: job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Minute, Burst: 2}, InOrder: true, HoldOnDiscard: true}}
		f.limit(l)
		f.limitKey("c", job.KeyLimits{Weight: 2})
		f.insert(f.job(job.LimitKey("b")), f.job(job.LimitKey("c")))
		queue := job.LimitUse{Limits: l, Overrides: 1, QueueRunning: 1}
		b, c := queue, queue
		for _, j := range f.take("w", 2) {
			if j.LimitKey == "c" {
				c.KeyDiscarded = j.ID
				j.State = job.Discarded
				f.settle("w", j)
			}
		}
		b.KeyRunning, b.KeyFirst = 1, f.insertNew(job.LimitKey("b")).ID
		c.Own, c.KeyFirst = job.KeyLimits{Weight: 2}, f.insertNew(job.LimitKey("c")).ID
		uses := f.uses("c", "", "none", "b", "c")
		for i, want := range []job.LimitUse{c, queue, queue, b, c} {
			f.isUse(uses[i], want)
			if !uses[i].Now.Equal(uses[0].Now) {
				f.Errorf("the limits of the keys are as of %v and %v, want the same time", uses[0].Now, uses[i].Now)
			}
		}
	}},
	{"limits are returned of up to so many keys", func(f *fixture) {
		keys := make([]string, job.MaxUses+1)
		for i := range keys {
			keys[i] = fmt.Sprint("key ", i)
		}
		f.uses(keys[1:]...)
		if uses, err := f.Limits(f.ctx, job.DefaultQueue, keys...); err == nil {
			f.Errorf("the limits of %d keys were returned for %d, want an error", len(uses), len(keys))
		}
	}},
	{"limits out of their range are refused", func(f *fixture) {
		for _, l := range []job.Limits{{Running: -1}, {Starts: job.Rate{N: 1}}, {EachKey: job.KeyLimits{Running: job.MaxLimit + 1}}, {EachKey: job.KeyLimits{Running: 2, InOrder: true}}, {EachKey: job.KeyLimits{HoldOnDiscard: true}}, {EachKey: job.KeyLimits{Starts: job.Rate{N: -1, Per: 1}}}} {
			if err := f.SetLimits(f.ctx, job.DefaultQueue, l); err == nil {
				f.Errorf("the limits %+v were set", l)
			}
		}
		if err := f.SetLimits(f.ctx, "", job.Limits{Running: 1}); err == nil {
			f.Error("limits of a queue without a name were set")
		}
		f.used("", job.LimitUse{})
	}},
	{"wait returns when limits allow more", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Running: 1}})
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")))
		j := f.claimOne("w")
		f.wakes(func() { f.finish(j, job.Completed) })
		f.wakes(func() { f.limit(job.Limits{Running: 3}) })
	}},
}

func (f *fixture) limit(l job.Limits) {
	f.Helper()
	if err := f.SetLimits(f.ctx, job.DefaultQueue, l); err != nil {
		f.Fatalf("set limits: %v", err)
	}
}

// uses returns how much of the limits of the default queue and of keys is used.
func (f *fixture) uses(keys ...string) []job.LimitUse {
	f.Helper()
	got, err := f.Limits(f.ctx, job.DefaultQueue, keys...)
	if err != nil || len(got) != len(keys) {
		f.Fatalf("the limits of %d keys are %+v, %v", len(keys), got, err)
	}
	return got
}

// used tests how much of the limits of the default queue and a key is used.
func (f *fixture) used(key string, want job.LimitUse) {
	f.Helper()
	f.isUse(f.uses(key)[0], want)
}

func (f *fixture) isUse(got, want job.LimitUse) {
	f.Helper()
	if (got.QueueNext-want.QueueNext).Abs() > slack || (got.KeyNext-want.KeyNext).Abs() > slack || (got.KeyNext > 0) != (want.KeyNext > 0) ||
		(got.QueueHeld-want.QueueHeld).Abs() > slack || (got.KeyHeld-want.KeyHeld).Abs() > slack ||
		(got.QueueUnits-want.QueueUnits).Abs() > slack || (got.KeyUnits-want.KeyUnits).Abs() > slack {
		f.Errorf("use %+v, want about %+v", got, want)
	}
	f.near("the time", got.Now, f.now())
	got.QueueUnits, got.KeyUnits = want.QueueUnits, want.KeyUnits
	if got.QueueNext, got.KeyNext, got.QueueHeld, got.KeyHeld, got.Now = want.QueueNext, want.KeyNext, want.QueueHeld, want.KeyHeld, want.Now; got != want {
		f.Errorf("use %+v, want %+v", got, want)
	}
}

// ends returns the ways in which a job can stop running.
func (f *fixture) ends() map[string]func(j *job.Job) {
	settle := func(alter func(j *job.Job)) func(j *job.Job) {
		return func(j *job.Job) {
			alter(j)
			f.settle("w", j)
		}
	}
	return map[string]func(j *job.Job){
		"completed":               settle(func(j *job.Job) { j.State = job.Completed }),
		"completed with a result": settle(func(j *job.Job) { j.State, j.Result = job.Completed, []byte("1") }),
		"discarded":               settle(func(j *job.Job) { j.State = job.Discarded }),
		"canceled":                settle(func(j *job.Job) { j.State = job.Canceled }),
		"released":                settle(func(j *job.Job) { j.State, j.RunAt = job.Queued, time.Time{} }),
		"snoozed":                 settle(func(j *job.Job) { j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour }),
		"moved":                   settle(func(j *job.Job) { j.State, j.Queue = job.Queued, "elsewhere" }),
	}
}
