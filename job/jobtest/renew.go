package jobtest

import (
	"reflect"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var renewPromises = []promise{
	{"renew keeps a lease from running out", func(f *fixture) {
		j := f.insertLeased("w", 4*short)
		if got := f.renew("w", long, j.ID); len(got.Lost) != 0 || len(got.Canceled) != 0 {
			f.Errorf("renewed with %+v", got)
		}
		time.Sleep(6 * short)
		if got := f.claimBy(job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true}); len(got.Jobs) != 0 {
			f.Error("a job whose lease was renewed was claimed")
		}
	}},
	{"renew sets the lease from now, also to less", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.renew("w", short, j.ID)
		f.claimExpired("x")
	}},
	{"renew of a lease that ran out, before somebody claimed the job", func(f *fixture) {
		j := f.insertLeased("w", short)
		time.Sleep(3 * short)
		if got := f.renew("w", long, j.ID); len(got.Lost) != 0 {
			f.Errorf("lost %v, want it renewed", got.Lost)
		}
		if got := f.claimBy(job.Claim{Worker: "x", Session: sessionOf("x"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long, Expired: true}); len(got.Jobs) != 0 {
			f.Error("a job whose lease was renewed was claimed")
		}
		f.finish(j, job.Completed)
	}},
	{"renew tells what was lost", func(f *fixture) {
		taken := f.insertLeased("w", short)
		f.claimExpired("x")
		held, removed, settled := f.insertLeased("w", long), f.insertLeased("w", long), f.insertLeased("w", long)
		f.finish(removed, job.Completed)
		f.remove(removed.ID)
		f.finish(settled, job.Completed)
		got := f.renew("w", long, taken.ID, held.ID, removed.ID, settled.ID)
		f.sameIDs("lost", sorted(got.Lost), sorted([]job.ID{taken.ID, removed.ID, settled.ID}))
		if j := f.read(taken.ID); j.Worker != "x" || j.State != job.Running {
			f.Errorf("a renewal by another worker made it %+v", j)
		}
		if got := f.renew("x", long, taken.ID); len(got.Lost) != 0 {
			f.Errorf("its holder lost %v", got.Lost)
		}
	}},
	{"renew tells what is to be canceled, of all that the worker holds", func(f *fixture) {
		a, b, other := f.insertLeased("w", long), f.insertLeased("w", long), f.insertLeased("other", long)
		f.insertLeased("w", long)
		f.requestCancel(a.ID, b.ID, other.ID)
		for range 2 {
			f.sameIDs("canceled", sorted(f.renew("w", long, a.ID).Canceled), sorted([]job.ID{a.ID, b.ID}))
		}
		f.sameIDs("canceled", sorted(f.renew("w", long).Canceled), sorted([]job.ID{a.ID, b.ID}))
		f.finish(a, job.Canceled)
		f.sameIDs("canceled", f.renew("w", long, b.ID).Canceled, []job.ID{b.ID})
		f.sameIDs("canceled", f.renew("other", long).Canceled, []job.ID{other.ID})
	}},
	{"a claim of a job whose lease ran out keeps the request to cancel", func(f *fixture) {
		j, other := f.insertLeased("a", short), f.insertLeased("c", long)
		f.requestCancel(j.ID)
		if !f.read(j.ID).CancelRequested {
			f.Error("the cancellation request is missing")
		}
		got := f.claimExpired("b")
		if !got.CancelRequested || !f.read(j.ID).CancelRequested {
			f.Error("the cancellation request is gone after the claim")
		}
		f.sameIDs("canceled", f.renew("b", long, j.ID).Canceled, []job.ID{j.ID})
		f.sameIDs("canceled", f.renew("c", long, other.ID).Canceled, nil)
		got.State = job.Queued
		f.settleLosing("b", []job.ID{j.ID}, got)
		f.finish(got, job.Canceled)
	}},
	{"a claim clears the request to cancel", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.requestCancel(j.ID)
		f.finish(j, job.Discarded)
		f.apply(job.ActionRetry, j.ID)
		if got := f.claim("b", 1)[0]; got.CancelRequested || f.read(j.ID).CancelRequested {
			f.Error("the cancellation request is still there after a claim")
		}
		if got := f.renew("b", long, j.ID); len(got.Canceled) != 0 {
			f.Errorf("canceled %v after the claim, want none", got.Canceled)
		}
	}},
	{"renew of many", func(f *fixture) {
		jobs := make([]*job.Job, 1200)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		claimed := ids(f.claim("w", len(jobs)))
		absent := f.job()
		got := f.renew("w", long, append(claimed, absent.ID)...)
		f.sameIDs("lost", got.Lost, []job.ID{absent.ID})
	}},
	{"workers are those that renew, until they leave", func(f *fixture) {
		if got := f.workers(); len(got) != 0 {
			f.Errorf("workers of a new store: %+v", got)
		}
		f.renew("b", long)
		f.renew("a", long)
		got := f.workers()
		if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
			f.Fatalf("workers are %+v, want a and b", got)
		}
		if named, err := f.Workers(f.ctx, "c", "b"); err != nil || len(named) != 1 || named[0].Name != "b" {
			f.Errorf("workers named b and c: %+v, %v, want b", named, err)
		}
		seen := got[1].Seen
		f.near("seen", seen, f.now())
		f.sameTime("started", got[1].Started, workerInfo.Started)
		want := workerInfo
		want.Name, want.Seen, want.Started = "b", seen, got[1].Started
		if !reflect.DeepEqual(got[1], want) {
			f.Errorf("worker is %+v, want %+v", got[1], want)
		}
		time.Sleep(2 * pause)
		info := workerInfo
		info.Running, info.Stopping = 4, false
		if _, err := f.Renew(f.ctx, job.Renewal{Worker: "b", Session: sessionOf("b"), Lease: long, Info: info}); err != nil {
			f.Fatalf("renew: %v", err)
		}
		if b := f.workers()[1]; b.Running != 4 || b.Stopping || !b.Seen.After(seen) {
			f.Errorf("worker is %+v, want its last report", b)
		}
		j := f.insertLeased("b", long)
		for range 2 {
			if err := f.Leave(f.ctx, "b", sessionOf("b")); err != nil {
				f.Fatalf("leave: %v", err)
			}
		}
		if got := f.workers(); len(got) != 1 || got[0].Name != "a" {
			f.Errorf("workers are %+v, want a", got)
		}
		f.state(j.ID, job.Running)
		f.finish(j, job.Completed)
	}},
}

func (f *fixture) requestCancel(ids ...job.ID) {
	f.Helper()
	f.apply(job.ActionCancel, ids...)
}

func (f *fixture) workers() []job.WorkerInfo {
	f.Helper()
	workers, err := f.Workers(f.ctx)
	if err != nil {
		f.Fatalf("workers: %v", err)
	}
	return workers
}
