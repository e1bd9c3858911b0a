package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var queuePromises = []promise{
	{"counts are by queue, kind and state", func(f *fixture) {
		f.counts()
		f.insertNew(job.Queue("q"))
		f.insert(f.kind("b"), f.kind("b"), f.kind("b", job.In(time.Hour)))
		claimed := f.take("w", 2)
		f.counts(
			job.Count{Queue: "default", Kind: "b", State: job.Queued, N: 1}, job.Count{Queue: "default", Kind: "b", State: job.Running, N: 2},
			job.Count{Queue: "q", Kind: "k", State: job.Queued, N: 1},
		)
		f.finish(claimed[0], job.Completed)
		claimed[1].State, claimed[1].Queue = job.Queued, "q"
		f.settle("w", claimed[1])
		f.counts(
			job.Count{Queue: "default", Kind: "b", State: job.Queued, N: 1}, job.Count{Queue: "default", Kind: "b", State: job.Completed, N: 1},
			job.Count{Queue: "q", Kind: "k", State: job.Queued, N: 1}, job.Count{Queue: "q", Kind: "b", State: job.Queued, N: 1},
		)
		for _, j := range f.list(job.Filter{}) {
			f.remove(j.ID)
		}
		f.counts()
	}},
	{"counts do not count a job twice", func(f *fixture) {
		f.insertNew(job.Unique("a"))
		f.tryInsert(f.job(job.Unique("a")), f.job(job.Unique("a")))
		j := f.claimOne("w")
		f.finish(j, job.Completed)
		f.settleLosing("w", []job.ID{j.ID}, j)
		f.counts(job.Count{Queue: "default", Kind: "k", State: job.Completed, N: 1})
	}},
	{"queues are those with unfinished jobs and those that are paused", func(f *fixture) {
		f.queues()
		f.insertNew(job.Queue("b"), job.In(time.Hour))
		f.insertFinished(job.Completed, job.Queue("finished"))
		j := f.insertLeased("w", long)
		f.pauseQueue("empty", true)
		f.pauseQueue("b", true)
		f.pauseQueue("b", true)
		f.pauseQueue("never", false)
		f.queues(
			job.QueueInfo{Name: "b", Paused: true, Queued: 1}, job.QueueInfo{Name: job.DefaultQueue, Running: 1},
			job.QueueInfo{Name: "empty", Paused: true},
		)
		f.finish(j, job.Completed)
		f.pauseQueue("empty", false)
		f.pauseQueue("b", false)
		f.queues(job.QueueInfo{Name: "b", Queued: 1})
	}},
	{"queues tell how long a job has been due", func(f *fixture) {
		now := f.now()
		f.insertNew(job.At(now.Add(-time.Hour)), job.Priority(1))
		f.insertNew(job.At(now.Add(-3*time.Hour)), job.Priority(5))
		f.insertNew(job.At(now.Add(-2*time.Hour)), job.Priority(9))
		f.insertNew(job.In(time.Hour), job.Queue("later"))
		infos := f.queueInfos()
		if len(infos) != 2 || (infos[0].Wait-3*time.Hour).Abs() > slack || infos[1].Wait != 0 {
			f.Errorf("queues are %+v, want a wait of 3 h and one of 0", infos)
		}
		f.claim("w", 10)
		if infos := f.queueInfos(); len(infos) != 2 || infos[0].Wait != 0 {
			f.Errorf("queues are %+v, want no wait", infos)
		}
	}},
	{"a paused queue takes jobs, and what runs goes on", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.pauseQueue(job.DefaultQueue, true)
		next := f.insertNew()
		if got := f.renew("w", long, j.ID); len(got.Lost) != 0 {
			f.Errorf("lost %v", got.Lost)
		}
		f.finish(j, job.Completed)
		f.due()
		f.pauseQueue(job.DefaultQueue, false)
		f.due(next)
	}},
}

// counts tests the counts, in any order.
func (f *fixture) counts(want ...job.Count) {
	f.Helper()
	got, err := f.Counts(f.ctx)
	if err != nil {
		f.Fatalf("counts: %v", err)
	}
	left := map[job.Count]bool{}
	for _, c := range got {
		left[c] = true
	}
	for _, c := range want {
		if !left[c] {
			f.Errorf("counts are %+v, want %+v among them", got, c)
		}
	}
	if len(got) != len(want) {
		f.Errorf("counts are %+v, want %+v", got, want)
	}
}

func (f *fixture) queueInfos() []job.QueueInfo {
	f.Helper()
	infos, err := f.Queues(f.ctx)
	if err != nil {
		f.Fatalf("queues: %v", err)
	}
	return infos
}

// queues tests the queues without their waits.
func (f *fixture) queues(want ...job.QueueInfo) {
	f.Helper()
	got := f.queueInfos()
	if len(got) != len(want) {
		f.Errorf("queues are %+v, want %+v", got, want)
		return
	}
	for i := range got {
		got[i].Wait = 0
		if got[i] != want[i] {
			f.Errorf("queue %+v, want %+v", got[i], want[i])
		}
	}
}
