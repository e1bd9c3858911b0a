package jobtest

import (
	"reflect"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var applyPromises = []promise{
	{"an action changes what it says, in the states from which it is, and skips other jobs", func(f *fixture) {
		at := f.now().Add(time.Hour).Truncate(time.Second)
		for _, action := range []job.Action{
			job.ActionRetry, job.ActionRestore, job.ActionCancel, job.ActionDiscard, job.ActionDelete, job.ActionMove("other"), job.ActionPriority(9), job.ActionRunAt(at),
		} {
			for _, j := range f.inEachState() {
				before := f.read(j.ID)
				got, want := f.applied(job.Filter{IDs: []job.ID{j.ID}, Limit: 2}, action), job.ActionResult{Changed: 1}
				if !action.Suits(before.State) {
					want = job.ActionResult{Skipped: 1}
				}
				if got != want {
					f.Errorf("%s of a %s job returned %+v, want %+v", action, before.State, got, want)
				}
				f.checkAction(action, before)
			}
			f.emptyQueues()
		}
	}},
	{"an action to an unknown state, or with an invalid argument, is refused", func(f *fixture) {
		j := f.insertNew()
		from := []job.State{job.Queued}
		for _, action := range []job.Action{
			{From: from, To: "odd"},
			{From: from, To: job.Running},
			{From: from, To: job.Scheduled},
			{From: from, To: job.Queued, Priority: 70_000},
			{From: from, To: job.Queued, Queue: "a b"},
			job.ActionPriority(0), job.ActionMove(""),
		} {
			if got, err := f.Apply(f.ctx, job.Filter{Limit: 9}, action); err == nil {
				f.Errorf("the action %+v returned %+v, and no error", action, got)
			}
		}
		f.due(j)
	}},
	{"no job is in an unknown state", func(f *fixture) {
		j := f.insertNew()
		odd := job.Filter{States: []job.State{"odd"}, Limit: 9}
		f.sameIDs("listed", ids(f.list(odd)), nil)
		if got := f.applied(odd, job.ActionCancel); got != (job.ActionResult{}) {
			f.Errorf("an action returned %+v", got)
		}
		if got, err := f.Prune(f.ctx, map[job.State]time.Duration{"odd": 0}, 9); err != nil || got.Deleted != 0 {
			f.Errorf("prune returned %+v, %v", got, err)
		}
		odd.States = append(odd.States, job.Queued)
		f.sameIDs("listed", ids(f.list(odd)), []job.ID{j.ID})
	}},
	{"a canceled or discarded job has finished now", func(f *fixture) {
		for _, action := range []job.Action{job.ActionCancel, job.ActionDiscard} {
			j := f.insertNew(job.In(time.Hour))
			f.apply(action, j.ID)
			f.near("finished", f.read(j.ID).Finished, f.now())
		}
		f.due()
	}},
	{"a queued job is due when an action says", func(f *fixture) {
		a, b, c := f.insertNew(), f.insertNew(job.In(time.Hour)), f.insertNew()
		f.apply(job.ActionRunAt(f.now().Add(time.Hour)), a.ID)
		f.due(c)
		f.apply(job.ActionRetry, b.ID)
		f.near("due", f.read(b.ID).RunAt, f.now())
		f.due(b)
	}},
	{"actions move queued jobs within the order", func(f *fixture) {
		a, b, c := f.insertNew(), f.insertNew(), f.insertNew()
		f.apply(job.ActionPriority(9), c.ID)
		f.apply(job.ActionRunAt(f.read(b.ID).RunAt.Add(-time.Hour)), b.ID)
		f.due(c, b, a)
	}},
	{"an action moves jobs of several kinds to a queue", func(f *fixture) {
		a, b, there := f.kind("a"), f.kind("b"), f.kind("a", job.Queue("other"))
		f.insert(a, b, there)
		f.apply(job.ActionMove("other"), a.ID, b.ID, there.ID)
		f.counts(
			job.Count{Queue: "other", Kind: "a", State: job.Queued, N: 2}, job.Count{Queue: "other", Kind: "b", State: job.Queued, N: 1},
		)
		f.due()
		got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "other"), Limit: 5, Lease: long}).Jobs
		f.sameIDs("claimed", sorted(ids(got)), sorted([]job.ID{a.ID, b.ID, there.ID}))
	}},
	{"a retried job has all its attempts and keeps what it has gathered", func(f *fixture) {
		for _, state := range finalStates {
			f.insertNew(job.MaxAttempts(3))
			j := f.claimOne("w")
			j.Detail = oddDetail()
			f.finish(j, state)
			f.state(j.ID, state)
			f.apply(job.ActionRetry, j.ID)
			want := oddDetail()
			want.Released = 0
			f.sameDetail(f.read(j.ID).Detail, want)
			again := f.claimOne("x")
			if again.ID != j.ID || again.Attempt != 2 || again.Uncounted != 1 || again.MaxAttempts != 3 {
				f.Errorf("claimed %+v, want attempt 2 of %v", again, j.ID)
			}
			again.Detail = job.Detail{Released: 3}
			f.finish(again, state)
			f.apply(job.ActionRetry, j.ID)
			f.sameDetail(f.read(j.ID).Detail, job.Detail{})
			f.apply(job.ActionDelete, j.ID)
		}
	}},
	{"a restored job is queued as it was", func(f *fixture) {
		for _, action := range []job.Action{job.ActionCancel, job.ActionDiscard} {
			f.insertNew(job.MaxAttempts(3), job.Unique("a"))
			j := f.claimOne("w")
			j.State, j.RunAt, j.Delay, j.Detail = job.Queued, time.Time{}, time.Hour, oddDetail()
			f.settle("w", j)
			before := f.read(j.ID)
			f.apply(action, j.ID)
			f.apply(job.ActionRestore, j.ID)
			if got := f.read(j.ID); !reflect.DeepEqual(got, before) {
				f.Errorf("after %s it is restored as\n%+v, want\n%+v", action, got, before)
			}
			f.taken("a", j.ID)
			f.due()
			f.remove(j.ID)
		}
		f.insertFinished(job.Canceled, job.Unique("b"))
		holder := f.insertNew(job.Unique("b"))
		if got, want := f.applied(job.Filter{States: []job.State{job.Canceled}, Limit: 5}, job.ActionRestore), (job.ActionResult{Conflicts: 1}); got != want {
			f.Errorf("a restore whose unique key is taken returned %+v, want %+v", got, want)
		}
		f.taken("b", holder.ID)
	}},
	{"the worker of a running job is asked to cancel it", func(f *fixture) {
		j := f.insertLeased("w", long)
		for range 2 {
			f.apply(job.ActionCancel, j.ID)
			f.sameIDs("canceled", f.renew("w", long, j.ID).Canceled, []job.ID{j.ID})
		}
		f.finish(j, job.Completed)
		if f.read(j.ID).CancelRequested {
			f.Error("a finished job has a cancellation request")
		}
	}},
	{"a deleted job is gone", func(f *fixture) {
		queued, delayed := f.insertNew(job.Queue("q"), job.Unique("a")), f.insertNew(job.In(time.Hour))
		finished := f.insertFinished(job.Completed)
		all := []job.ID{queued.ID, delayed.ID, finished.ID}
		f.apply(job.ActionDelete, all...)
		if left := f.list(job.Filter{}); len(left) != 0 {
			f.Errorf("left %v", ids(left))
		}
		if got := f.applied(job.Filter{IDs: all, Limit: 5}, job.ActionDelete); got != (job.ActionResult{}) {
			f.Errorf("deleted again: %+v", got)
		}
		finished.State = job.Completed
		f.settleLosing("w", []job.ID{finished.ID}, finished)
		if got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue, "q"), Limit: 5, Lease: long}); len(got.Jobs) != 0 || got.Next != 0 {
			f.Errorf("claimed %+v", got)
		}
	}},
	{"a retried job holds its unique key again", func(f *fixture) {
		j := f.insertFinished(job.Discarded, job.Unique("a"))
		f.apply(job.ActionRetry, j.ID)
		f.taken("a", j.ID)
		f.finish(f.claimOne("w"), job.Completed)
		f.insertNew(job.Unique("a"))
	}},
	{"of the jobs of one unique key that are retried at once the newest gets it", func(f *fixture) {
		for _, states := range [][]job.State{{job.Discarded, job.Discarded, job.Discarded}, {job.Completed, job.Discarded, job.Canceled}, {job.Canceled, job.Completed, job.Discarded}} {
			var newest *job.Job
			for i := range 9 {
				newest = f.insertFinished(states[i%3], job.Unique("a"))
			}
			if got, want := f.applied(job.Filter{UniqueKey: newest.UniqueKey, Limit: 10}, job.ActionRetry), (job.ActionResult{Changed: 1, Conflicts: 8}); got != want {
				f.Errorf("retry returned %+v, want %+v", got, want)
			}
			f.sameIDs("queued", ids(f.list(job.Filter{States: []job.State{job.Queued}})), []job.ID{newest.ID})
			f.taken("a", newest.ID)
			f.remove(ids(f.list(job.Filter{}))...)
		}
	}},
	{"a retried job whose unique key is taken stays finished", func(f *fixture) {
		a, b := f.insertFinished(job.Discarded, job.Unique("a")), f.insertFinished(job.Canceled, job.Unique("a"))
		plain := f.insertFinished(job.Discarded)
		holder := f.insertNew(job.Unique("a"))
		before := f.read(a.ID)
		if got, want := f.applied(job.Filter{IDs: []job.ID{plain.ID, a.ID}, Limit: 5}, job.ActionRetry), (job.ActionResult{Changed: 1, Conflicts: 1}); got != want {
			f.Errorf("retry returned %+v, want %+v", got, want)
		}
		if got := f.read(a.ID); !reflect.DeepEqual(got, before) {
			f.Errorf("the job is %+v, want %+v", got, before)
		}
		f.state(plain.ID, job.Queued)
		f.remove(a.ID) // it does not hold the key
		f.taken("a", holder.ID)
		f.remove(holder.ID, plain.ID)
		f.apply(job.ActionRetry, b.ID)
		f.taken("a", b.ID)
	}},
	{"of two retried jobs with one unique key one is queued", func(f *fixture) {
		f.insertFinished(job.Discarded, job.Unique("a"))
		f.insertFinished(job.Discarded, job.Unique("a"))
		if got, want := f.applied(job.Filter{Limit: 5}, job.ActionRetry), (job.ActionResult{Changed: 1, Conflicts: 1}); got != want {
			f.Errorf("retry returned %+v, want %+v", got, want)
		}
		f.taken("a", f.list(job.Filter{States: []job.State{job.Queued}})[0].ID)
	}},
	{"a retried job that holds its key by UniqueFor is queued", func(f *fixture) {
		old := f.insertFinished(job.Discarded, job.Unique("a"))
		j := f.insertFinished(job.Discarded, job.Unique("a"), job.UniqueFor(time.Hour))
		if got, want := f.applied(job.Filter{Limit: 5}, job.ActionRetry), (job.ActionResult{Changed: 1, Conflicts: 1}); got != want {
			f.Errorf("retry returned %+v, want %+v", got, want)
		}
		f.state(old.ID, job.Discarded)
		f.state(j.ID, job.Queued)
		f.taken("a", j.ID)
	}},
	{"an action is for the jobs that list returns", func(f *fixture) {
		s := newScene(f)
		all := f.list(job.Filter{})
		for _, test := range s.tests() {
			f.applied(job.Filter{Limit: 100}, job.ActionPriority(5))
			test.filter.Limit = 100
			got := f.applied(test.filter, job.ActionPriority(9))
			for _, j := range all {
				want := 5
				if j.State == job.Queued && slices.Contains(test.want, j.ID) {
					want = 9
				}
				if now := f.read(j.ID); now.Priority != want {
					f.Errorf("%s: %s has priority %d, want %d", test.name, s.names([]job.ID{j.ID}), now.Priority, want)
				}
			}
			if got.Changed+got.Skipped != len(test.want) {
				f.Errorf("%s: %+v, want %d jobs", test.name, got, len(test.want))
			}
		}
	}},
	{"an action goes on after a part, the newest first", func(f *fixture) {
		jobs := make([]*job.Job, 1200)
		for i := range jobs {
			jobs[i] = f.job(job.Unique(job.NewID().String()))
		}
		f.insert(jobs...)
		filter := job.Filter{Limit: 500, States: []job.State{job.Queued}}
		for _, want := range []job.ActionResult{{Changed: 500, Next: jobs[700].ID}, {Changed: 500, Next: jobs[200].ID}, {Changed: 200}} {
			got := f.applied(filter, job.ActionCancel)
			if got != want {
				f.Fatalf("canceled %+v, want %+v", got, want)
			}
			filter.Before = got.Next
		}
		f.counts(job.Count{Queue: job.DefaultQueue, Kind: "k", State: job.Canceled, N: 1200})
		again := make([]*job.Job, 5)
		for i := range again {
			again[i] = f.job()
			again[i].UniqueKey = jobs[i*200].UniqueKey
		}
		f.insert(again...)
	}},
}

// applied applies an action to the jobs that match a filter, and returns the result.
func (f *fixture) applied(filter job.Filter, action job.Action) job.ActionResult {
	f.Helper()
	done, err := f.Apply(f.ctx, filter, action)
	if err != nil {
		f.Fatalf("%s: %v", action, err)
	}
	return done
}

// apply applies an action to jobs. The test fails unless the action changes all of them.
func (f *fixture) apply(action job.Action, ids ...job.ID) {
	f.Helper()
	if got := f.applied(job.Filter{IDs: ids, Limit: len(ids) + 1}, action); got != (job.ActionResult{Changed: len(ids)}) {
		f.Errorf("%s of %d jobs returned %+v", action, len(ids), got)
	}
}

// inEachState returns jobs that are queued, running, and finished in each final state.
func (f *fixture) inEachState() []*job.Job {
	f.Helper()
	jobs := []*job.Job{f.insertLeased("w", long)}
	for _, state := range finalStates {
		f.insertNew(job.Meta("a", "b"), job.Timeout(time.Minute))
		j := f.claimOne("w")
		j.Detail = oddDetail()
		f.finish(j, state)
		jobs = append(jobs, j)
	}
	return append(jobs, f.insertNew(job.Meta("a", "b"), job.Priority(3)))
}

// emptyQueues cancels all queued jobs, so that none is claimed.
func (f *fixture) emptyQueues() {
	f.Helper()
	f.applied(job.Filter{States: []job.State{job.Queued}, Limit: 100}, job.ActionCancel)
}

// checkAction tests the state of a job after an action was applied to it.
func (f *fixture) checkAction(action job.Action, before *job.Job) {
	f.Helper()
	if action.To == "" && action.Suits(before.State) {
		if f.exists(before.ID) {
			f.Errorf("%s left the job", action)
		}
		return
	}
	got, want := f.read(before.ID), *before
	switch {
	case !action.Suits(before.State):
	case before.State == job.Running:
		want.CancelRequested = true
	case action.To.Finished():
		want.State, want.Finished = action.To, got.Finished
	default:
		if before.State.Finished() {
			want.State, want.Finished = job.Queued, time.Time{}
			if action.Due {
				want.Uncounted, want.Released = want.Attempt, 0
			}
		}
		if action.Queue != "" {
			want.Queue = action.Queue
		}
		if action.Priority != 0 {
			want.Priority = action.Priority
		}
		if action.Due {
			want.RunAt = got.RunAt
			due := action.RunAt
			if due.IsZero() {
				due = f.now()
			}
			f.near("due", got.RunAt, due)
		}
	}
	if !reflect.DeepEqual(*got, want) {
		f.Errorf("%s of a %s job made it\n%+v, want\n%+v", action, before.State, *got, want)
	}
}
