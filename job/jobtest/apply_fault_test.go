package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Apply.
var applyFaults = []fault{
	{name: "an action is done in every state", noticed: []string{
		"an action changes what it says, in the states from which it is, and skips other jobs",
	}, apply: applyAs(func(_ *job.Filter, action *job.Action) { action.From = append(action.From, finalStates...) }, nil)},
	{name: "an action may lead to any state", noticed: []string{"an action to an unknown state, or with an invalid argument, is refused"}, apply: func(b *broken) {
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
			if action.Check() != nil {
				return job.ActionResult{}, nil
			}
			return b.Store.Apply(ctx, f, action)
		}
	}},
	{name: "an unknown state is any state", noticed: []string{"no job is in an unknown state"}, apply: listAs(func(f *job.Filter) {
		if slices.Contains(f.States, "odd") {
			f.States = nil
		}
	})},
	{name: "what is skipped is not counted", noticed: []string{
		"an action changes what it says, in the states from which it is, and skips other jobs",
	}, apply: applyAs(nil, func(done *job.ActionResult) { done.Skipped = 0 })},
	{name: "an action does not finish a job", noticed: []string{"a canceled or discarded job has finished now"}, apply: applyAs(func(_ *job.Filter, action *job.Action) {
		if action.To.Finished() {
			action.To = job.Queued
		}
	}, nil)},
	{name: "an action drops the time", noticed: []string{
		"a queued job is due when an action says",
		"actions move queued jobs within the order",
	}, apply: applyAs(func(_ *job.Filter, action *job.Action) { action.Due = false }, nil)},
	{name: "an action drops the queue", noticed: []string{
		"an action moves jobs of several kinds to a queue",
		"wait is woken by a move to the queue",
	}, apply: applyAs(func(_ *job.Filter, action *job.Action) { action.Queue = "" }, nil)},
	{name: "a retry does nothing", noticed: []string{
		"a retried job has all its attempts and keeps what it has gathered",
		"a retried job holds its unique key again",
		"wait is woken by a retry",
		"a claim clears the request to cancel",
	}, apply: withoutAction(job.Queued, finalStates)},
	{name: "a restore is a retry", noticed: []string{
		"a restored job is queued as it was",
	}, apply: applyAs(func(_ *job.Filter, action *job.Action) {
		action.Due = action.Due || slices.Equal(action.From, job.ActionRestore.From)
	}, nil)},
	{name: "a running job is not asked to cancel", noticed: []string{
		"the worker of a running job is asked to cancel it",
		"a claim of a job whose lease ran out keeps the request to cancel",
		"settle as queued of a job that is to be canceled leaves it to be settled as canceled, with what follows that",
		"a job that is claimed at the same time is canceled as well",
	}, apply: withoutAction(job.Canceled, []job.State{job.Running})},
	{name: "a deleted job stays", noticed: []string{
		"a deleted job is gone",
		"a unique key is free when its job was finished or deleted by an action",
	}, apply: withoutAction("", []job.State{job.Queued})},
	{name: "a discarded job stays queued", noticed: []string{"concurrent actions change each job once"}, apply: withoutAction(job.Discarded, []job.State{job.Queued})},
	{name: "conflicts are not returned", noticed: []string{
		"a retried job whose unique key is taken stays finished",
		"of two retried jobs with one unique key one is queued",
		"a retried job that holds its key by UniqueFor is queued",
	}, apply: applyAs(nil, func(done *job.ActionResult) { done.Conflicts = 0 })},
	{name: "a job that is queued again does not take its key", noticed: []string{
		"a retried job holds its unique key again",
	}, apply: func(b *broken) {
		retried := false
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
			retried = retried || action.To == job.Queued
			return b.Store.Apply(ctx, f, action)
		}
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			return b.Store.Insert(ctx, copies(jobs, func(j *job.Job) {
				if retried {
					j.UniqueKey = ""
				}
			})...)
		}
	}},
	{name: "the oldest of the jobs that are queued again gets its key", noticed: []string{
		"of the jobs of one unique key that are retried at once the newest gets it",
	}, apply: func(b *broken) {
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (done job.ActionResult, err error) {
			if action.To != job.Queued {
				return b.Store.Apply(ctx, f, action)
			}
			jobs, err := b.Store.List(ctx, f)
			if err != nil {
				return done, err
			}
			for _, j := range slices.Backward(jobs) {
				one, err := b.Store.Apply(ctx, job.Filter{IDs: []job.ID{j.ID}, Limit: 2}, action)
				if err != nil {
					return done, err
				}
				done.Changed, done.Skipped, done.Conflicts = done.Changed+one.Changed, done.Skipped+one.Skipped, done.Conflicts+one.Conflicts
			}
			return done, nil
		}
	}},
	{name: "an action ignores the states of the filter", noticed: []string{"an action is for the jobs that list returns"}, apply: applyAs(func(f *job.Filter, _ *job.Action) { f.States = nil }, nil)},
	{name: "an action ignores the worker of the filter", noticed: []string{"an action is for the jobs that list returns"}, apply: applyAs(func(f *job.Filter, _ *job.Action) { f.Worker = "" }, nil)},
	{name: "an action ignores the limit", noticed: []string{"an action goes on after a part, the newest first"}, apply: applyAs(func(f *job.Filter, _ *job.Action) { f.Limit = 5000 }, nil)},
	{name: "an action does not say how to go on", noticed: []string{"an action goes on after a part, the newest first"}, apply: applyAs(nil, func(done *job.ActionResult) { done.Next = job.ID{} })},
	{name: "an action takes long between finding jobs and changing them", noticed: []string{
		"concurrent actions change each job once",
		"a job that is claimed at the same time is canceled as well",
	}, apply: func(b *broken) {
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (done job.ActionResult, err error) {
			jobs, err := b.Store.List(ctx, f)
			if err != nil || len(jobs) == 0 {
				return done, err
			}
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return done, err
			}
			for state, part := range byState(jobs) {
				if action.Suits(state) {
					_, err = b.Store.Apply(ctx, job.Filter{IDs: ids(part), States: []job.State{state}, Limit: len(part)}, action)
					done.Changed += len(part)
				} else {
					done.Skipped += len(part)
				}
			}
			if len(jobs) == f.Limit {
				done.Next = jobs[f.Limit-1].ID
			}
			return done, err
		}
	}},
}

// withoutAction makes actions that lead to the state to skip jobs in the states from, and report all skipped jobs as changed.
func withoutAction(to job.State, from []job.State) func(b *broken) {
	return func(b *broken) {
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
			if action.To == to {
				action.From = slices.DeleteFunc(slices.Clone(action.From), func(s job.State) bool { return slices.Contains(from, s) })
			}
			done, err := b.Store.Apply(ctx, f, action)
			return job.ActionResult{Changed: done.Changed + done.Skipped, Conflicts: done.Conflicts, Next: done.Next}, err
		}
	}
}

func byState(jobs []*job.Job) map[job.State][]*job.Job {
	by := map[job.State][]*job.Job{}
	for _, j := range jobs {
		by[j.State] = append(by[j.State], j)
	}
	return by
}
