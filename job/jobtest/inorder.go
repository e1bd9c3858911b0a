package jobtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var inOrderPromises = []promise{
	{"jobs of a key in order run one at a time, as they were enqueued", func(f *fixture) {
		f.inOrder()
		late := f.job(job.LimitKey("a"), job.Priority(9)) // made first, enqueued last
		first := f.insertNew(job.LimitKey("a"), job.Priority(1))
		b := f.insertNew(job.LimitKey("b"), job.Priority(2))
		second := f.job(job.LimitKey("a"), job.Priority(9))
		third := f.job(job.LimitKey("a"), job.At(f.now().Add(-time.Hour)))
		f.insert(second, third)
		time.Sleep(2 * time.Millisecond) // so that the store's clock has advanced
		f.insert(late)
		plain := []*job.Job{f.job(), f.job()}
		f.insert(plain...)
		got := f.take("w", 4)
		f.sameIDs("at first", sorted(ids(got)), sorted(ids(append(plain, first, b))))
		f.due()
		running := first
		for _, next := range []*job.Job{second, third, late} {
			for _, j := range got {
				if j.ID == running.ID {
					f.finish(j, job.Completed)
				}
			}
			got = f.take("w", 1)
			f.sameIDs("the next", ids(got), ids([]*job.Job{next}))
			f.due()
			running = next
		}
	}},
	{"a job in order that waits holds back those behind it, and no others", func(f *fixture) {
		f.inOrder()
		first := f.insertNew(job.LimitKey("a"), job.Priority(1))
		j := f.claimOne("w")
		next := f.insertNew(job.LimitKey("a"), job.Priority(9))
		j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
		f.settle("w", j)
		f.insert(f.job(job.LimitKey("a")))
		f.nextIn(time.Hour)
		b := f.insertNew(job.LimitKey("b"))
		f.due(b)
		f.nextIn(time.Hour)
		f.apply(job.ActionRetry, first.ID)
		got := f.claimOne("w")
		f.sameIDs("run now", []job.ID{got.ID}, []job.ID{first.ID})
		f.finish(got, job.Completed)
		f.due(next)
	}},
	{"a job in order that ends lets the next go on, however it ends", func(f *fixture) {
		f.inOrder()
		ends := map[string]func(){
			"discarded":          func() { f.finish(f.claimOne("w"), job.Discarded) },
			"canceled":           func() { f.finish(f.claimOne("w"), job.Canceled) },
			"canceled, queued":   func() { f.apply(job.ActionCancel, f.first().ID) },
			"deleted":            func() { f.remove(f.first().ID) },
			"moved":              func() { f.apply(job.ActionMove("elsewhere"), f.first().ID) },
			"moved as it failed": func() { j := f.claimOne("w"); j.State, j.Queue = job.Queued, "elsewhere"; f.settle("w", j) },
		}
		for name, end := range ends {
			f.insert(f.job(job.LimitKey("a"), job.Priority(9)), f.job(job.LimitKey("a")), f.job(job.LimitKey("a"), job.Priority(8)))
			next := f.list(job.Filter{Queues: []string{job.DefaultQueue}, States: []job.State{job.Queued}})[1]
			end()
			got := f.claim("w", 5)
			if len(got) != 1 || got[0].ID != next.ID {
				f.Fatalf("%s: claimed %v, want %v", name, ids(got), next.ID)
			}
			f.finish(got[0], job.Completed)
			for _, j := range f.list(job.Filter{States: []job.State{job.Queued}}) {
				f.remove(j.ID)
			}
		}
	}},
	{"a job in order that waits and is taken away lets the next go on", func(f *fixture) {
		f.inOrder()
		for name, away := range map[string]func(id job.ID){
			"canceled":  func(id job.ID) { f.apply(job.ActionCancel, id) },
			"discarded": func(id job.ID) { f.apply(job.ActionDiscard, id) },
			"deleted":   func(id job.ID) { f.remove(id) },
			"moved":     func(id job.ID) { f.apply(job.ActionMove("elsewhere"), id) },
		} {
			first := f.insertNew(job.LimitKey("a"), job.In(time.Hour))
			next := f.insertNew(job.LimitKey("a"))
			f.nextIn(time.Hour)
			f.wakes(func() { away(first.ID) })
			got := f.claim("w", 5)
			if len(got) != 1 || got[0].ID != next.ID {
				f.Fatalf("%s: claimed %v, want %v", name, ids(got), next.ID)
			}
			f.finish(got[0], job.Completed)
		}
	}},
	{"workers at once keep the order", func(f *fixture) {
		const workers, keys, jobs = 4, 3, 60
		f.inOrder()
		for i := range jobs {
			f.insertNew(job.LimitKey(fmt.Sprint(i%keys)), job.Priority(1+i%9))
		}
		var mu sync.Mutex
		running, done := map[string]int{}, map[string][]job.ID{}
		finished := func() (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, of := range done {
				n += len(of)
			}
			return n
		}
		began := func(j *job.Job) {
			mu.Lock()
			defer mu.Unlock()
			if running[j.LimitKey]++; running[j.LimitKey] > 1 {
				f.Errorf("%d jobs of key %s run", running[j.LimitKey], j.LimitKey)
			}
		}
		ends := func(j *job.Job) {
			mu.Lock()
			defer mu.Unlock()
			if running[j.LimitKey]--; j.State == job.Completed {
				done[j.LimitKey] = append(done[j.LimitKey], j.ID)
			}
		}
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for w := range workers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					name, rng := fmt.Sprint("w", w), rand.New(rand.NewPCG(11, uint64(w)))
					for finished() < jobs {
						got, err := f.Claim(ctx, job.Claim{Worker: name, Session: sessionOf(name), Queues: queues(2, job.DefaultQueue), Limit: 2, Lease: long})
						if err != nil {
							return err
						}
						for _, j := range got.Jobs {
							began(j)
						}
						if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
							return err
						}
						for _, j := range got.Jobs {
							if j.State = job.Completed; rng.IntN(3) == 0 {
								j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Duration(rng.IntN(3))*time.Millisecond
							}
							ends(j)
						}
						if _, err := f.Settle(ctx, sessionOf(name), job.Outcomes(got.Jobs...)...); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		for key, got := range done {
			if !slices.IsSortedFunc(got, compare) { // they were enqueued one by one
				f.Errorf("the jobs of key %s completed in the order %v", key, got)
			}
		}
	}},
	{"a job in order of another kind holds back its key, and no other", func(f *fixture) {
		f.inOrder()
		f.insert(f.kind("other", job.LimitKey("a"), job.Priority(3)), f.job(job.LimitKey("a")), f.job(job.LimitKey("a"), job.Priority(2)))
		want := []*job.Job{f.job(job.LimitKey("b")), f.job(job.Priority(1))}
		f.insert(want...)
		claim := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Kinds: []string{"k"}}
		f.sameIDs("of the kind", ids(f.claimBy(claim).Jobs), ids(want))
		claim.Kinds = []string{"other"}
		if got := f.claimBy(claim).Jobs; len(got) != 1 || got[0].Kind != "other" {
			f.Errorf("claimed %v of the other kind, want 1", ids(got))
		}
	}},
	{"jobs are put in order, and out of it, at once", func(f *fixture) {
		f.insert(f.job(job.LimitKey("a"), job.In(time.Hour)), f.job(job.LimitKey("a")), f.job(job.LimitKey("a"), job.Priority(9)))
		f.take("w", 1)
		f.inOrder()
		f.due()
		for _, j := range f.list(job.Filter{States: []job.State{job.Running}}) {
			f.finish(j, job.Completed)
		}
		f.nextIn(time.Hour)
		f.used("a", job.LimitUse{Limits: job.Limits{EachKey: job.KeyLimits{InOrder: true}}, KeyFirst: f.list(job.Filter{})[2].ID})
		f.limit(job.Limits{})
		f.take("w", 1)
	}},
}

func (f *fixture) inOrder() {
	f.Helper()
	f.limit(job.Limits{EachKey: job.KeyLimits{InOrder: true}})
}

// first returns the queued job of the default queue that was created first.
func (f *fixture) first() *job.Job {
	f.Helper()
	queued := f.list(job.Filter{Queues: []string{job.DefaultQueue}, States: []job.State{job.Queued}})
	return queued[len(queued)-1]
}
