package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var uniquePromises = []promise{
	{"a unique key is held while its job is unfinished", func(f *fixture) {
		first := f.insertNew(job.Unique("a"))
		f.taken("a", first.ID)
		f.insertNew(job.Unique("b"))
		f.insert(f.kind("other", job.Unique("a"))) // another kind, another key
		running := f.take("w", 1)[0]
		f.sameIDs("claimed", []job.ID{running.ID}, []job.ID{first.ID})
		f.taken("a", first.ID)
		running.State, running.RunAt, running.Delay = job.Queued, time.Time{}, time.Hour
		f.settle("w", running)
		f.taken("a", first.ID)
	}},
	{"a unique key is that of its kind", func(f *fixture) {
		a, b, c := f.kind("a", job.Unique("b:c")), f.kind("a:b", job.Unique("c")), f.kind("a", job.Unique("b c"))
		f.insert(a, b)
		f.insert(c)
		for _, j := range []*job.Job{f.kind("a", job.Unique("b:c")), f.kind("a:b", job.Unique("c")), f.kind("a", job.Unique("b c"))} {
			holders := map[string]job.ID{a.UniqueKey: a.ID, b.UniqueKey: b.ID, c.UniqueKey: c.ID}
			f.sameIDs("holder of "+j.UniqueKey, f.tryInsert(j), []job.ID{holders[j.UniqueKey]})
			f.sameIDs("listed by "+j.UniqueKey, ids(f.list(job.Filter{UniqueKey: j.UniqueKey})), []job.ID{holders[j.UniqueKey]})
		}
	}},
	{"jobs without a unique key are all stored", func(f *fixture) {
		f.insert(f.job(), f.job(), f.job())
	}},
	{"a unique key is free when its job has finished", func(f *fixture) {
		for _, state := range finalStates {
			j := f.insertNew(job.Unique("a"))
			claimed := f.claimOne("w")
			f.finish(claimed, state)
			if got := f.look(j.ID).UniqueKey; got != j.UniqueKey {
				f.Errorf("the finished job has unique key %q, want %q as before", got, j.UniqueKey)
			}
		}
		f.insertNew(job.Unique("a"))
	}},
	{"a unique key is free when its job was finished or removed by a change", func(f *fixture) {
		for _, state := range finalStates {
			f.insertFinished(state, job.Unique("a"))
		}
		j := f.insertNew(job.Unique("a"))
		f.remove(j.ID)
		j = f.insertNew(job.Unique("a"))
		f.claimOne("w")
		f.remove(j.ID)
		f.insertNew(job.Unique("a"))
	}},
	{"of the jobs of one call the first has the unique key", func(f *fixture) {
		a, other, b, c := f.job(job.Unique("x")), f.job(job.Unique("y")), f.job(job.Unique("x")), f.job(job.Unique("x"))
		plain := f.job()
		f.sameIDs("inserted", f.tryInsert(a, other, b, plain, c), []job.ID{a.ID, other.ID, a.ID, plain.ID, a.ID})
		if f.exists(b.ID) || f.exists(c.ID) {
			f.Error("a duplicate was stored")
		}
		f.due(a, other, plain)
	}},
	{"of many jobs of one call some have a unique key that is held", func(f *fixture) {
		held := f.insertNew(job.Unique("held"))
		var jobs []*job.Job
		var want []job.ID
		for i := range 300 {
			switch i % 3 {
			case 0:
				jobs = append(jobs, f.job(job.Unique("held")))
				want = append(want, held.ID)
			case 1:
				jobs = append(jobs, f.job())
				want = append(want, jobs[i].ID)
			case 2:
				jobs = append(jobs, f.job(job.Unique(string(rune('a'+i%26)))))
				want = append(want, jobs[i].ID)
				for k := 2; k < i; k += 3 {
					if jobs[k].UniqueKey == jobs[i].UniqueKey {
						want[i] = jobs[k].ID
						break
					}
				}
			}
		}
		f.sameIDs("inserted", f.tryInsert(jobs...), want)
	}},
	{"unique for holds the key beyond the end of its job", func(f *fixture) {
		for _, state := range finalStates {
			key := string(state)
			j := f.insertNew(job.Unique(key), job.UniqueFor(time.Hour))
			f.finish(f.claimOne("w"), state)
			f.taken(key, j.ID)
			changed := f.insertFinished(state, job.Unique(key+"2"), job.UniqueFor(time.Hour))
			f.taken(key+"2", changed.ID)
			f.remove(j.ID)
			f.insert(f.job(job.Unique(key), job.In(time.Hour)))
		}
	}},
	{"unique for ends", func(f *fixture) {
		j := f.insertNew(job.Unique("a"), job.UniqueFor(3*short))
		f.finish(f.claimOne("w"), job.Completed)
		var next *job.Job
		f.eventually("the key to be free", func() bool {
			next = f.job(job.Unique("a"))
			return f.tryInsert(next)[0] == next.ID
		})
		if age := f.look(next.ID).Created.Sub(f.look(j.ID).Created); age < 3*short-time.Millisecond {
			f.Errorf("the key was free after %v, want %v", age, 3*short)
		}
	}},
	{"unique for that is over does not free the key of an unfinished job", func(f *fixture) {
		j := f.insertNew(job.Unique("a"), job.UniqueFor(time.Millisecond))
		time.Sleep(2 * short)
		f.taken("a", j.ID)
		f.finish(f.claimOne("w"), job.Completed)
		f.insertNew(job.Unique("a"))
	}},
	{"unique for outlives the pruning of its job", func(f *fixture) {
		j := f.insertFinished(job.Completed, job.Unique("a"), job.UniqueFor(time.Hour))
		time.Sleep(short)
		if n, err := f.Prune(f.ctx, map[job.State]time.Duration{job.Completed: 0}, 10); n != 1 || err != nil {
			f.Fatalf("prune deleted %d, %v", n, err)
		}
		f.taken("a", j.ID)
	}},
}

var finalStates = []job.State{job.Completed, job.Canceled, job.Discarded}

// taken tests that a unique key of kind "k" is held by a job.
func (f *fixture) taken(key string, by job.ID) {
	f.Helper()
	j := f.job(job.Unique(key))
	if got := f.tryInsert(j)[0]; got != by {
		f.Fatalf("insert with a key that is held returned %v, want its holder %v", got, by)
	}
	if f.exists(j.ID) {
		f.Errorf("a duplicate with key %q was stored", key)
	}
}
