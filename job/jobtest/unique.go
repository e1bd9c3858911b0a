package jobtest

import (
	"encoding/json"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var uniquePromises = []promise{
	{"a unique key is held while its job is unfinished", func(f *fixture) {
		first := f.insertNew(job.Unique("a"))
		f.taken("a", first.ID)
		f.insertNew(job.Unique("b"))
		f.insert(f.kind("other", job.Unique("a"))) // the same text for another kind is another key
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
			if got := f.read(j.ID).UniqueKey; got != j.UniqueKey {
				f.Errorf("the finished job has the unique key %q, want %q", got, j.UniqueKey)
			}
		}
		f.insertNew(job.Unique("a"))
	}},
	{"a unique key is free when its job was finished or deleted by an action", func(f *fixture) {
		for _, state := range finalStates {
			f.insertFinished(state, job.Unique("a"))
		}
		j := f.insertNew(job.Unique("a"))
		f.remove(j.ID)
		j = f.insertNew(job.Unique("a"))
		f.finish(f.claimOne("w"), job.Completed)
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
		if age := f.read(next.ID).Created.Sub(f.read(j.ID).Created); age < 3*short-time.Millisecond {
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
		if n, err := f.Prune(f.ctx, map[job.State]time.Duration{job.Completed: 0}, 10); n.Deleted != 1 || err != nil {
			f.Fatalf("prune deleted %d, %v", n.Deleted, err)
		}
		f.taken("a", j.ID)
	}},
	{"a job replaces the args and the time of a queued one with its key", func(f *fixture) {
		j := f.insertNew(job.Unique("a"), job.In(time.Hour), job.Priority(7))
		before := f.read(j.ID)
		next := f.job(job.Unique("a"), job.Replace())
		next.Args = json.RawMessage(`{"n":2}`)
		f.sameIDs("inserted", f.tryInsert(next), []job.ID{j.ID})
		after := f.read(j.ID)
		if string(after.Args) != `{"n":2}` || after.RunAt.After(before.RunAt.Add(-30*time.Minute)) || after.Priority != 7 || !after.Created.Equal(before.Created) {
			f.Errorf("replaced: args %s, due %v and %v before, priority %d", after.Args, after.RunAt, before.RunAt, after.Priority)
		}
		f.sameIDs("claimed", ids(f.claim("w", 10)), []job.ID{j.ID})
		last := f.job(job.Unique("a"), job.Replace())
		f.sameIDs("inserted while it runs", f.tryInsert(last), []job.ID{j.ID})
		if got := f.read(j.ID); string(got.Args) != `{"n":2}` || f.exists(last.ID) {
			f.Errorf("the args of a running job became %s", got.Args)
		}
	}},
	{"a debounced job is due later with each that replaces it, up to its longest delay", func(f *fixture) {
		debounced := func(d, within time.Duration) *job.Job {
			j := f.job(job.Debounce("a", d, within))
			j.Args = json.RawMessage(`{"n":2}`)
			return j
		}
		first := f.insertNew(job.Debounce("a", time.Hour, 2*time.Hour))
		created := f.read(first.ID).Created
		f.near("the first is due", f.read(first.ID).RunAt, created.Add(time.Hour))
		f.sameIDs("inserted", f.tryInsert(debounced(90*time.Minute, 2*time.Hour)), []job.ID{first.ID})
		got := f.read(first.ID)
		f.near("the second is due", got.RunAt, created.Add(90*time.Minute))
		if string(got.Args) != `{"n":2}` || !got.Created.Equal(created) {
			f.Errorf("replaced: args %s, created %v", got.Args, got.Created)
		}
		time.Sleep(short)
		f.tryInsert(debounced(2*time.Hour, 2*time.Hour))
		f.sameTime("the third, at most two hours after the first,", f.read(first.ID).RunAt, created.Add(2*time.Hour))
		time.Sleep(short)
		f.tryInsert(debounced(short/2, short/2))
		if got := f.read(first.ID); got.RunAt.Before(created.Add(short)) || got.RunAt.After(created.Add(time.Minute)) {
			f.Errorf("with a longest delay that is over it is due %v after it was created, want now", got.RunAt.Sub(created))
		}
		var running *job.Job
		f.eventually("the job to be due", func() bool {
			jobs := f.claim("w", 5)
			if len(jobs) > 0 {
				running = jobs[0]
			}
			return running != nil
		})
		next := f.insertNew(job.Debounce("a", time.Hour, 2*time.Hour))
		f.finish(running, job.Completed)
		f.sameIDs("the next", f.tryInsert(debounced(time.Hour, 2*time.Hour)), []job.ID{next.ID})
	}},
	{"a debounced job that waits for its next attempt is due no earlier", func(f *fixture) {
		debounced := func(d time.Duration) *job.Job {
			j := f.job(job.Debounce("a", d, d))
			j.Args = json.RawMessage(`{"n":2}`)
			return j
		}
		first := f.insertNew(job.Debounce("a", 1, 1))
		var failed *job.Job
		f.eventually("the job to be due", func() bool {
			for _, failed = range f.claim("w", 5) {
			}
			return failed != nil
		})
		failed.State, failed.RunAt, failed.Delay = job.Queued, time.Time{}, time.Hour
		f.settle("w", failed)
		again := f.read(first.ID).RunAt
		f.sameIDs("inserted", f.tryInsert(debounced(time.Minute)), []job.ID{first.ID})
		if got := f.read(first.ID); !got.RunAt.Equal(again) || string(got.Args) != `{"n":2}` {
			f.Errorf("it has the args %s and is due at %v, want the new ones at %v", got.Args, got.RunAt, again)
		}
		f.tryInsert(debounced(2 * time.Hour))
		f.near("with a longer delay it is due", f.read(first.ID).RunAt, again.Add(time.Hour))
		f.tryInsert(f.job(job.Unique("a"), job.Replace()))
		f.near("replaced, it is due", f.read(first.ID).RunAt, f.now())
	}},
	{"of the jobs of one call the last replaces the first", func(f *fixture) {
		a, b, c := f.job(job.Unique("a")), f.job(job.Unique("a"), job.Replace()), f.job(job.Unique("a"))
		b.Args = json.RawMessage(`{"n":2}`)
		f.sameIDs("inserted", f.tryInsert(a, b, c), []job.ID{a.ID, a.ID, a.ID})
		if got := f.read(a.ID); string(got.Args) != `{"n":2}` || string(a.Args) != `{"n":1}` {
			f.Errorf("stored with args %s, and the caller's are %s", got.Args, a.Args)
		}
		f.sameIDs("claimed", ids(f.claim("w", 10)), []job.ID{a.ID})
	}},
	{"a unique key keeps others out in chosen states", func(f *fixture) {
		while := func(states ...job.State) *job.Job {
			return f.job(job.Unique("a"), job.UniqueFor(time.Hour), job.UniqueWhile(states...))
		}
		first := f.insertNew(job.Unique("a"), job.UniqueFor(time.Hour))
		f.sameIDs("beside a queued one", f.tryInsert(while(job.Queued)), []job.ID{first.ID})
		running := f.claimOne("w")
		f.sameIDs("beside a running one", f.tryInsert(while(job.Queued, job.Running)), []job.ID{first.ID})
		second := while(job.Queued)
		f.insert(second)
		f.taken("a", second.ID)
		f.sameIDs("listed by the key while another job has it", ids(f.list(job.Filter{UniqueKey: first.UniqueKey})), []job.ID{second.ID, first.ID})
		f.finish(running, job.Completed) // does not free the key, which it no longer holds
		f.taken("a", second.ID)
		f.finish(f.claimOne("w"), job.Discarded)
		f.sameIDs("beside a discarded one", f.tryInsert(while(job.Discarded)), []job.ID{second.ID})
		third := while(job.Queued, job.Running, job.Completed)
		f.insert(third)
		f.remove(third.ID)
		f.insert(while(job.Queued))
	}},
}

var finalStates = []job.State{job.Completed, job.Canceled, job.Discarded}

// taken tests that a job holds a unique key of kind "k".
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
