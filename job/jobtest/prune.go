package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var prunePromises = []promise{
	{"a bound below zero is one of zero", func(f *fixture) {
		f.insertFinished(job.Completed)
		f.audit(job.AuditEntry{Action: "move"})
		f.limitKey("a", job.KeyLimits{Running: 3})
		f.prune(0, map[job.State]time.Duration{job.Completed: 0}, -1)
		if got := f.audited(0, -1); len(got) > 0 {
			f.Errorf("audited are %+v", got)
		}
		if got := f.audited(-5, 9); len(got) > 0 {
			f.Errorf("audited before -5 are %+v", got)
		}
		if got, err := f.Overrides(f.ctx, job.DefaultQueue, "", -1); err != nil || len(got) > 0 {
			f.Errorf("the limits of keys are %+v, %v", got, err)
		}
	}},
	{"prune deletes what is older than its retention", func(f *fixture) {
		completed, canceled := f.insertFinished(job.Completed), f.insertFinished(job.Canceled)
		discarded := f.insertFinished(job.Discarded)
		queued := f.insertNew(job.In(time.Hour))
		running := f.insertLeased("w", long)
		time.Sleep(2 * pause)
		f.prune(0, nil, 10)
		f.prune(0, map[job.State]time.Duration{job.Completed: time.Hour}, 10)
		f.prune(1, map[job.State]time.Duration{job.Completed: 0, job.Canceled: time.Hour}, 10)
		f.sameIDs("left", ids(f.list(job.Filter{})), []job.ID{running.ID, queued.ID, discarded.ID, canceled.ID})
		f.prune(2, map[job.State]time.Duration{job.Completed: 0, job.Canceled: 0, job.Discarded: 0}, 10)
		if f.exists(completed.ID) || f.exists(canceled.ID) || f.exists(discarded.ID) {
			f.Error("prune did not delete a job that it reported as deleted")
		}
		f.finish(running, job.Completed)
	}},
	{"prune deletes the oldest first, and at most so many", func(f *fixture) {
		var jobs []*job.Job
		for range 6 {
			jobs = append(jobs, f.insertNew())
		}
		claimed := f.take("w", 6)
		var order []job.ID // by the time at which they finished
		for _, i := range []int{3, 0, 5, 1, 4, 2} {
			f.finish(claimed[i], job.Completed)
			order = append(order, jobs[i].ID)
			time.Sleep(2 * pause)
		}
		all := map[job.State]time.Duration{job.Completed: 0, job.Discarded: 0}
		f.prune(0, all, 0)
		for i := 0; i < 6; i += 2 {
			f.prune(2, all, 2)
			f.sameIDs("left", ids(f.list(job.Filter{})), newestFirst(order[i+2:]))
		}
		f.prune(0, all, 2)
	}},
	{"prune keeps what finished within its retention", func(f *fixture) {
		old := f.insertFinished(job.Completed)
		keep := 10 * short
		time.Sleep(keep)
		f.eventually("the first to be pruned", func() bool {
			n, err := f.Prune(f.ctx, map[job.State]time.Duration{job.Completed: keep}, 10)
			if err != nil {
				f.Fatalf("prune: %v", err)
			}
			return n.Deleted == 1
		})
		if f.exists(old.ID) {
			f.Error("prune did not delete a job that it reported as deleted")
		}
	}},
	{"prune leaves a job that was queued again", func(f *fixture) {
		j := f.insertFinished(job.Discarded)
		f.apply(job.ActionRetry, j.ID)
		time.Sleep(2 * pause)
		f.prune(0, map[job.State]time.Duration{job.Discarded: 0, job.Completed: 0, job.Canceled: 0}, 10)
		f.finish(f.claimOne("w"), job.Completed)
	}},
	{"prune of many", func(f *fixture) {
		jobs := make([]*job.Job, 700)
		for i := range jobs {
			jobs[i] = f.job(job.Unique(job.NewID().String()))
		}
		f.insert(jobs...)
		claimed := f.take("w", len(jobs))
		for _, j := range claimed {
			j.State = job.Completed
		}
		f.settle("w", claimed...)
		time.Sleep(2 * pause)
		all := map[job.State]time.Duration{job.Completed: 0}
		f.prune(600, all, 600)
		f.checkCounts()
		f.prune(100, all, 600)
		f.counts()
	}},
}

func (f *fixture) prune(want int, retention map[job.State]time.Duration, limit int) {
	f.Helper()
	got, err := f.Prune(f.ctx, retention, limit)
	if err != nil {
		f.Fatalf("prune: %v", err)
	}
	if got.Deleted != want || len(got.Repaired) > 0 {
		f.Errorf("prune deleted %d and repaired %+v, want %d and nothing", got.Deleted, got.Repaired, want)
	}
}

func newestFirst(ids []job.ID) []job.ID {
	var newest []job.ID
	for _, id := range sorted(ids) {
		newest = append([]job.ID{id}, newest...)
	}
	return newest
}
