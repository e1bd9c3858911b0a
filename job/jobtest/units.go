package jobtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// unitAnHour is a rate of one unit an hour that starts with a hundred units.
var unitAnHour = job.Rate{N: 100, Per: 100 * time.Hour, Burst: 100}

var unitsPromises = []promise{
	{"units bound how fast jobs of a queue start, by what they cost", func(f *fixture) {
		l := job.Limits{Units: unitAnHour}
		f.limit(l)
		f.insert(f.job(job.Cost(60)), f.job(job.Cost(60)), f.job(job.Cost(60)), f.job(job.LimitKey("a"), job.Cost(60)), f.job())
		for _, j := range f.take2("w") {
			if j.Cost != 60 {
				f.Errorf("a job costs %d, want 60", j.Cost)
			}
		}
		f.nextIn(21 * time.Hour)
		f.sameIDs("of another queue", ids(f.otherQueue(f.insertNew(job.Queue("other"), job.Cost(job.MaxCost)))), nil)
		l.Running = 10
		f.limit(l)
		f.nextIn(21 * time.Hour) // the rate has not changed
		l.Units.Burst = 150
		f.limit(l)
		f.take("w", 3)
		f.insertNew(job.Cost(60))
		f.take("w", 1)
		f.insertNew()
		f.nextIn(31 * time.Hour)
		f.limit(job.Limits{})
		f.take("w", 1)
	}},
	{"units of each key bound how fast its jobs start", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Units: unitAnHour}})
		f.insert(f.job(job.LimitKey("a"), job.Cost(60)), f.job(job.LimitKey("a"), job.Cost(60)), f.job(job.LimitKey("a"), job.Cost(60)),
			f.job(job.LimitKey("b"), job.Cost(60)), f.job(job.Cost(1000)), f.job(job.Cost(1000)))
		held := f.claim("w", 10)
		if len(held) != 5 {
			f.Fatalf("claimed %d jobs, want 5", len(held))
		}
		f.nextIn(21 * time.Hour)
		for _, j := range held {
			f.finish(j, job.Completed)
		}
		f.insertNew(job.LimitKey("a"))
		f.due()
		b := f.insertNew(job.LimitKey("b"))
		f.due(b)
	}},
	{"a job that costs more than all units starts, and those after it wait", func(f *fixture) {
		for _, l := range []job.Limits{{Units: unitAnHour}, {EachKey: job.KeyLimits{Units: unitAnHour}}} {
			f.limit(l)
			f.insertNew(job.LimitKey("a"), job.Cost(1000))
			first := f.claimOne("w")
			next := f.insertNew(job.LimitKey("a"), job.Cost(1), job.Priority(9))
			f.nextIn(901 * time.Hour)
			f.finish(first, job.Completed)
			f.nextIn(901 * time.Hour)
			f.remove(next.ID)
			f.limit(job.Limits{})
		}
	}},
	{"what was spent counts instead of the cost, however the job ends, unless it is lost", func(f *fixture) {
		ends := map[string]func(j *job.Job) []job.ID{
			"completed": func(j *job.Job) []job.ID { j.State = job.Completed; return nil },
			"discarded": func(j *job.Job) []job.ID { j.State = job.Discarded; return nil },
			"canceled":  func(j *job.Job) []job.ID { j.State = job.Canceled; return nil },
			"snoozed":   func(j *job.Job) []job.ID { j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour; return nil },
			"moved":     func(j *job.Job) []job.ID { j.State, j.Queue = job.Queued, "elsewhere"; return nil },
			"to be canceled": func(j *job.Job) []job.ID {
				f.apply(job.ActionCancel, j.ID)
				j.State = job.Queued
				return []job.ID{j.ID}
			},
			"lost":              func(j *job.Job) []job.ID { j.State, j.Attempt = job.Completed, j.Attempt-1; return []job.ID{j.ID} },
			"with what follows": func(j *job.Job) []job.ID { j.State = job.Completed; return nil },
		}
		l := job.Limits{Units: unitAnHour, EachKey: job.KeyLimits{Units: unitAnHour}}
		for name, end := range ends {
			f.limit(l)
			f.insertNew(job.LimitKey("a"), job.Cost(40))
			j := f.claimOne("w")
			o := job.Outcome{Job: j, Units: 90}
			lost := end(j)
			if name == "with what follows" {
				o.Then = []*job.Job{f.job(job.Queue("other"))}
			}
			f.settleThrottled("w", lost, o)
			use := f.uses("a")[0]
			want := 31 * time.Hour
			if lost != nil {
				want = 0
			}
			if (use.QueueUnits-want).Abs() > slack || (use.KeyUnits-want).Abs() > slack {
				f.Errorf("%s: the next job of the queue starts in %v, of the key in %v; want %v", name, use.QueueUnits, use.KeyUnits, want)
			}
			for _, left := range f.list(job.Filter{}) {
				if left.State == job.Running {
					f.finish(left, job.Completed)
				}
				f.remove(left.ID)
			}
			f.limit(job.Limits{})
		}
	}},
	{"units that were not spent are given back", func(f *fixture) {
		for _, l := range []job.Limits{{Units: unitAnHour}, {EachKey: job.KeyLimits{Units: unitAnHour}}} {
			f.limit(l)
			f.insert(f.job(job.LimitKey("a"), job.Cost(50)), f.job(job.LimitKey("a"), job.Cost(150)))
			held := f.take2("w")
			next := f.insertNew(job.LimitKey("a"), job.Cost(1))
			f.due()
			for _, j := range held {
				j.State = job.Completed
				f.settleThrottled("w", nil, job.Outcome{Job: j, Units: -j.Cost / 2})
			}
			f.nextIn(time.Hour)
			f.insert(f.job(job.LimitKey("a"), job.Cost(50), job.Priority(1)))
			f.limit(job.Limits{})
			f.take2("w")
			f.limit(l)
			f.insert(f.job(job.LimitKey("a"), job.Cost(150)))
			j := f.take("w", 1)[0]
			f.insertNew(job.LimitKey("a"), job.Cost(150))
			f.nextIn(51 * time.Hour)
			j.State = job.Completed
			f.settleThrottled("w", nil, job.Outcome{Job: j, Units: -j.Cost})
			f.take("w", 1)
			f.limit(job.Limits{})
			f.state(next.ID, job.Running)
		}
	}},
	{"a job whose lease has run out is claimed again without units", func(f *fixture) {
		f.limit(job.Limits{Units: unitAnHour, EachKey: job.KeyLimits{Units: unitAnHour}})
		f.insertNew(job.LimitKey("k"), job.Cost(60))
		j := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: short}).Jobs[0]
		if again := f.claimExpired("v"); again.ID != j.ID {
			f.Fatalf("claimed %v, want %v, whose lease ran out", again.ID, j.ID)
		}
		f.insert(f.job(job.LimitKey("k"), job.Cost(60)))
		f.take("w", 1)
		f.used("k", job.LimitUse{
			Limits:       job.Limits{Units: unitAnHour, EachKey: job.KeyLimits{Units: unitAnHour}},
			QueueRunning: 2, KeyRunning: 2, QueueUnits: 21 * time.Hour, KeyUnits: 21 * time.Hour,
		})
	}},
	{"limits are returned with how far their units are used", func(f *fixture) {
		l := job.Limits{Units: unitAnHour, EachKey: job.KeyLimits{Units: job.Rate{N: 1, Per: time.Hour, Burst: 50}}}
		f.limit(l)
		f.insert(f.job(job.LimitKey("a"), job.Cost(99)))
		f.take("w", 1)
		f.used("a", job.LimitUse{Limits: l, QueueRunning: 1, KeyRunning: 1, KeyUnits: 50 * time.Hour})
		f.insert(f.job(job.LimitKey("b"), job.Cost(11)))
		f.take("w", 1)
		f.used("b", job.LimitUse{Limits: l, QueueRunning: 2, KeyRunning: 1, QueueUnits: 11 * time.Hour})
		f.used("", job.LimitUse{Limits: l, QueueRunning: 2, QueueUnits: 11 * time.Hour})
	}},
	{"units count the jobs that a claim takes: of its kinds, and the first of those in order", func(f *fixture) {
		f.limit(job.Limits{Units: unitAnHour})
		f.insert(f.kind("other", job.Cost(500)), f.kind("other", job.LimitKey("a"), job.Cost(500)))
		want := []*job.Job{f.job(job.Cost(10)), f.job(job.Cost(20)), f.job(job.LimitKey("a"), job.Cost(30))}
		f.insert(want...)
		claim := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Kinds: []string{"k"}}
		f.sameIDs("of the kind", sorted(ids(f.claimBy(claim).Jobs)), sorted(ids(want)))
		f.used("", job.LimitUse{Limits: job.Limits{Units: unitAnHour}, QueueRunning: 3})
		claim.Kinds = []string{"other"}
		if n := len(f.claimBy(claim).Jobs); n != 1 {
			f.Errorf("claimed %d jobs of the other kind, want 1", n)
		}
		f.nextIn(461 * time.Hour)

		l := job.Limits{EachKey: job.KeyLimits{InOrder: true, Units: unitAnHour}}
		f.limit(l)
		f.remove(f.first().ID)
		f.insert(f.job(job.LimitKey("b"), job.Cost(110), job.Priority(1)), f.job(job.LimitKey("b"), job.Cost(10), job.Priority(9)))
		first := f.claimOne("w")
		f.due()
		f.finish(first, job.Completed)
		f.nextIn(11 * time.Hour)
	}},
	{"workers at once use no more units than there are", func(f *fixture) {
		const workers, jobs, most = 4, 160, 7
		f.limit(job.Limits{Units: unitAnHour, EachKey: job.KeyLimits{Units: job.Rate{N: 1, Per: time.Hour, Burst: 30}}})
		rng := rand.New(rand.NewPCG(5, 1))
		for range jobs {
			f.insertNew(job.LimitKey(fmt.Sprint(rng.IntN(5))), job.Cost(1+rng.IntN(most)))
		}
		var mu sync.Mutex
		used := map[string]int{}
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for w := range workers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					name := fmt.Sprint("w", w)
					for {
						got, err := f.Claim(ctx, job.Claim{Worker: name, Session: sessionOf(name), Queues: queues(4, job.DefaultQueue), Limit: 4, Lease: long})
						if err != nil || len(got.Jobs) == 0 {
							return err
						}
						mu.Lock()
						for _, j := range got.Jobs {
							used[j.LimitKey] += j.Cost
							used["all"] += j.Cost
						}
						mu.Unlock()
					}
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		for of, n := range used {
			if limit := map[bool]int{true: 100, false: 30}[of == "all"]; n >= limit+most {
				f.Errorf("%d units of %s were used, want fewer than %d plus the cost of the last job", n, of, limit)
			}
		}
		if used["all"] < 100 {
			f.Errorf("only %d units were used, want at least 100", used["all"])
		}
	}},
}

// take2 claims as many jobs as the limits allow, and tests that these are two.
func (f *fixture) take2(worker string) []*job.Job {
	f.Helper()
	jobs := f.claim(worker, 10)
	if len(jobs) != 2 {
		f.Fatalf("claimed %d jobs, want 2", len(jobs))
	}
	return jobs
}
