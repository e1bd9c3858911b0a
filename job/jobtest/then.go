package jobtest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Promises about jobs that follow an outcome.
var thenPromises = []promise{
	{"what follows an outcome is inserted with it", func(f *fixture) {
		for _, state := range append(finalStates, job.Queued, job.Running) {
			f.insertNew()
			j := f.claimOne("w")
			j.State, j.RunAt, j.Delay = state, time.Time{}, time.Hour
			next := f.kind("next", job.Queue("b"), job.Priority(7), job.MaxAttempts(3), job.Meta("tenant", "7"), job.In(2*time.Hour))
			last := f.kind("last", job.Queue("b"))
			before := *next
			f.settleThen("w", job.Outcome{Job: j, Then: []*job.Job{next, last}})
			f.state(j.ID, state)
			got := f.read(next.ID)
			if got.State != job.Queued || got.Kind != "next" || got.Queue != "b" || got.Priority != 7 || got.MaxAttempts != 3 || got.Attempt != 0 ||
				!maps.Equal(got.Meta, before.Meta) || string(got.Args) != string(before.Args) {
				f.Errorf("the job that follows a %s job is %+v", state, got)
			}
			f.near("due", got.RunAt, f.now().Add(2*time.Hour))
			taken := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "b"), Limit: 5, Lease: long})
			f.sameIDs("claimed", ids(taken.Jobs), []job.ID{last.ID})
		}
	}},
	{"what follows is announced to those who wait", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("w")
		j.State = job.Completed
		notified := make(chan error, 1)
		f.spawn(func(ctx context.Context) {
			for {
				if _, err := f.Wait(ctx, "b"); err != nil {
					notified <- err
					return
				}
				got, err := f.Claim(ctx, job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(1, "b"), Limit: 1, Lease: long})
				if err != nil || len(got.Jobs) > 0 {
					notified <- err
					return
				}
			}
		})
		f.settleThen("w", job.Outcome{Job: j, Then: []*job.Job{f.job(job.Queue("b"))}})
		select {
		case err := <-notified:
			if err != nil {
				f.Error(err)
			}
		case <-f.ctx.Done():
			f.Fatal("no wait returned for the job that follows")
		}
	}},
	{"of an outcome that is lost nothing follows", func(f *fixture) {
		for range 4 {
			f.insertNew()
		}
		jobs := f.take("w", 4)
		var outcomes []job.Outcome
		var want []job.ID
		for i, j := range jobs {
			j.State, j.RunAt, j.Delay = []job.State{job.Completed, job.Completed, job.Queued, job.Discarded}[i], time.Time{}, time.Hour
			next := f.job(job.Queue("b"))
			outcomes = append(outcomes, job.Outcome{Job: j, Then: []*job.Job{next}})
			if i != 1 {
				want = append(want, next.ID)
			}
		}
		gone := *jobs[1]
		f.finish(&gone, job.Completed)
		f.remove(gone.ID)
		other := *jobs[3]
		other.Attempt = 9
		stale := job.Outcome{Job: &other, Then: []*job.Job{f.job(job.Queue("b"))}}
		lost, err := f.Settle(f.ctx, sessionOf("w"), stale)
		if err != nil {
			f.Fatalf("settle: %v", err)
		}
		f.sameIDs("lost", lost, []job.ID{other.ID})
		if lost, err = f.Settle(f.ctx, sessionOf("w"), outcomes...); err != nil {
			f.Fatalf("settle: %v", err)
		}
		f.sameIDs("lost", lost, []job.ID{jobs[1].ID})
		f.sameIDs("what follows", sorted(ids(f.list(job.Filter{Queues: []string{"b"}}))), sorted(want))
	}},
	{"an outcome is not written without what follows", func(f *fixture) {
		there := f.insertNew(job.In(time.Hour))
		for range 2 {
			f.insertNew()
		}
		jobs := f.take("w", 2)
		for _, j := range jobs {
			j.State = job.Completed
		}
		next := f.job(job.Queue("b"))
		outcomes := []job.Outcome{{Job: jobs[0], Then: []*job.Job{next}}, {Job: jobs[1], Then: []*job.Job{there}}}
		if lost, err := f.Settle(f.ctx, sessionOf("w"), outcomes...); err == nil {
			f.Fatalf("settle with a job that exists already lost %v, want an error", lost)
		}
		for _, j := range jobs {
			f.state(j.ID, job.Running)
		}
		if f.exists(next.ID) {
			f.Error("a job that follows one of them was inserted")
		}
		outcomes[1].Then = nil
		f.settleThen("w", outcomes...)
		f.state(next.ID, job.Queued)
	}},
	{"of what follows, a job whose unique key is held is left out", func(f *fixture) {
		f.insertNew(job.Unique("mine"))
		j := f.claimOne("w")
		holder := f.insertNew(job.Unique("held"), job.In(time.Hour))
		replaced := f.insertNew(job.Unique("replaced"), job.In(time.Hour))
		j.State = job.Completed
		successor, second := f.job(job.Unique("mine")), f.job(job.Unique("mine"))
		duplicate, plain := f.job(job.Unique("held")), f.job()
		replacing := f.job(job.Unique("replaced"), job.Replace())
		replacing.Args = []byte(`{"n":2}`)
		f.settleThen("w", job.Outcome{Job: j, Then: []*job.Job{successor, second, duplicate, plain, replacing}})
		want := []job.ID{j.ID, holder.ID, replaced.ID, successor.ID, plain.ID}
		f.sameIDs("stored", sorted(ids(f.list(job.Filter{}))), sorted(want))
		if got := f.read(replaced.ID); string(got.Args) != `{"n":2}` {
			f.Errorf("the args of the job that was to be replaced are %s", got.Args)
		}
		if got := f.tryInsert(f.job(job.Unique("mine"))); got[0] != successor.ID {
			f.Errorf("the key of the completed job is held by %v, want the job that followed it, %v", got[0], successor.ID)
		}
	}},
	{"what follows one outcome is bounded", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("w")
		j.State = job.Completed
		then := make([]*job.Job, job.MaxThen+1)
		for i := range then {
			then[i] = f.job(job.Queue("b"))
		}
		if _, err := f.Settle(f.ctx, sessionOf("w"), job.Outcome{Job: j, Then: then}); err == nil {
			f.Fatalf("settle accepted %d jobs that follow, want an error", len(then))
		}
		f.state(j.ID, job.Running)
		f.counts(job.Count{Queue: job.DefaultQueue, Kind: "k", State: job.Running, N: 1})
		f.settleThen("w", job.Outcome{Job: j, Then: then[:job.MaxThen]})
		f.counts(
			job.Count{Queue: "b", Kind: "k", State: job.Queued, N: job.MaxThen},
			job.Count{Queue: job.DefaultQueue, Kind: "k", State: job.Completed, N: 1},
		)
	}},
}

// settleThen writes outcomes, none of which may be lost, and tests that Settle does not change the jobs that follow.
func (f *fixture) settleThen(worker string, outcomes ...job.Outcome) {
	f.Helper()
	var before []job.Job
	for _, o := range outcomes {
		for _, j := range o.Then {
			before = append(before, *j)
		}
	}
	lost, err := f.Settle(f.ctx, sessionOf(worker), outcomes...)
	if err != nil || len(lost) > 0 {
		f.Fatalf("settle: lost %v, error %v", lost, err)
	}
	for _, o := range outcomes {
		for _, j := range o.Then {
			if was := before[0]; j.State != was.State || !j.RunAt.Equal(was.RunAt) || !slices.Equal(j.Args, was.Args) {
				f.Errorf("settle changed a job that follows to %+v, want %+v", *j, was)
			}
			before = before[1:]
		}
	}
}
