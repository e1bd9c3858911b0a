package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Settle, Renew, Leave and Workers.
var settleFaults = []fault{
	{name: "there is no fence", noticed: []string{"who lost a lease cannot settle"}, apply: withoutFence(func(_, _ *job.Job, _ string) bool { return true })},
	{name: "the fence is the worker alone", noticed: []string{
		"a worker that lost a lease to itself cannot settle the old attempt",
	}, apply: withoutFence(func(stored, _ *job.Job, worker string) bool { return stored.Worker == worker })},
	{name: "the fence is the attempt alone", noticed: []string{"settle by another worker, or of another attempt, is lost"}, apply: withoutFence(func(stored, j *job.Job, _ string) bool { return stored.Attempt == j.Attempt })},
	{name: "a retry forgets that the job is to be canceled", noticed: []string{
		"settle as queued of a job that is to be canceled finishes it",
	}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			_, _ = b.Store.Change(ctx, ids(jobs), func(j *job.Job) job.Decision { // what is wrong, Settle says
				if j.State != job.Running {
					return job.Leave
				}
				j.CancelRequested = false
				return job.Write
			})
			return b.Store.Settle(ctx, worker, jobs...)
		}
	}},
	{name: "what a settle loses is not said", noticed: []string{"counts do not count a job twice"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			_, err := b.Store.Settle(ctx, worker, jobs...)
			return nil, err
		}
	}},
	{name: "all is lost", noticed: []string{"prune leaves a job that was queued again"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			_, err := b.Store.Settle(ctx, worker, jobs...)
			return ids(jobs), err
		}
	}},
	{name: "one that is lost loses all", noticed: []string{"settle of many, some of them lost"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			for _, j := range jobs {
				if s := b.stored(ctx, j.ID); s == nil || s.State != job.Running || s.Attempt != j.Attempt || s.Worker != worker {
					return ids(jobs), nil
				}
			}
			return b.Store.Settle(ctx, worker, jobs...)
		}
	}},
	{name: "settle says it wrote and does not", noticed: []string{
		"a lease that ran out can be settled until the job is claimed",
	}, apply: func(b *broken) {
		b.settle = func(context.Context, string, []*job.Job) ([]job.ID, error) { return nil, nil }
	}},
	{name: "settle writes at most a thousand", noticed: []string{"settle of many at once"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			return b.Store.Settle(ctx, worker, jobs[:min(len(jobs), 1000)]...)
		}
	}},
	{name: "settle of none is an error", noticed: []string{"settle of none"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			if len(jobs) == 0 {
				return nil, job.ErrNotFound
			}
			return b.Store.Settle(ctx, worker, jobs...)
		}
	}},
	{name: "settle changes the jobs", noticed: []string{"settle leaves its jobs as they are"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			lost, err := b.Store.Settle(ctx, worker, jobs...)
			for _, j := range jobs {
				j.RunAt, j.Delay = time.Now(), 0
			}
			return lost, err
		}
	}},
	{name: "settle drops the detail", noticed: []string{"what a caller does with its jobs does not reach the store"}, apply: settleAs(func(j *job.Job) { j.Detail = job.Detail{} })},
	{name: "settle cuts the detail", noticed: []string{"a large detail"}, apply: settleAs(func(j *job.Job) { j.Records = j.Records[:min(len(j.Records), 10)] })},
	{name: "settle drops the releases", noticed: []string{"a job that was released is claimed with how often"}, apply: settleAs(func(j *job.Job) { j.Released = 0 })},
	{name: "settle drops the delay", noticed: []string{"settle as queued with a delay"}, apply: settleAs(func(j *job.Job) { j.Delay = 0 })},
	{name: "settle drops the time", noticed: []string{"settle as queued writes when it is due and what changed"}, apply: settleAs(func(j *job.Job) { j.RunAt = time.Time{} })},
	{name: "settle delays all", noticed: []string{
		"an attempt is counted with each claim",
		"settle as queued is due at once without time and delay",
	}, apply: settleAs(func(j *job.Job) { j.RunAt, j.Delay = time.Time{}, j.Delay+time.Hour })},
	{name: "settle drops what is spared", noticed: []string{"settle as queued writes when it is due and what changed"}, apply: settleAs(func(j *job.Job) { j.Spared = 0 })},
	{name: "settle discards what it should cancel", noticed: []string{
		"settle of what is settled is lost",
		"change makes a finished job queued",
	}, apply: settleAs(func(j *job.Job) {
		if j.State == job.Canceled {
			j.State = job.Discarded
		}
	})},
	{name: "settle as running puts the job back", noticed: []string{"settle as running writes the detail alone"}, apply: settleAs(func(j *job.Job) {
		if j.State == job.Running {
			j.State = job.Queued
		}
	})},
	{name: "a lease that ran out cannot be settled", noticed: []string{
		"a lease that ran out can be settled until the job is claimed",
		"renew of a lease that ran out, before somebody claimed the job",
	}, apply: func(b *broken) {
		var until time.Time
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			until = time.Now().Add(c.Lease)
			return b.Store.Claim(ctx, c)
		}
		b.settle = func(ctx context.Context, worker string, jobs []*job.Job) ([]job.ID, error) {
			if time.Now().After(until) {
				return ids(jobs), nil
			}
			return b.Store.Settle(ctx, worker, jobs...)
		}
		b.renew = func(ctx context.Context, r job.Renewal) (job.Renewed, error) {
			if time.Now().After(until) {
				return job.Renewed{Lost: r.Jobs}, nil
			}
			return b.Store.Renew(ctx, r)
		}
	}},
	{name: "renew does not renew", noticed: []string{"renew keeps a lease from running out"}, apply: renewAs(func(r *job.Renewal) { r.Lease = 1 }, nil)},
	{name: "renew only lengthens", noticed: []string{"renew sets the lease from now, also to less"}, apply: renewAs(func(r *job.Renewal) { r.Lease = max(r.Lease, time.Hour) }, nil)},
	{name: "renew renews a part", noticed: []string{"renew of many"}, apply: renewAs(func(r *job.Renewal) { r.Jobs = r.Jobs[:min(len(r.Jobs), 1000)] }, nil)},
	{name: "renew says nothing of what is lost", noticed: []string{
		"renew tells what was lost",
		"remove deletes jobs in every state",
	}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Lost = nil })},
	{name: "renew says nothing of what is to be canceled", noticed: []string{
		"renew tells what is to be canceled, of all that the worker holds",
	}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Canceled = nil })},
	{name: "renew tells of a cancellation only those it renews", noticed: []string{
		"renew tells what is to be canceled, of all that the worker holds",
	}, apply: renewAs(nil, func(r job.Renewal, got *job.Renewed) {
		got.Canceled = slices.DeleteFunc(got.Canceled, func(id job.ID) bool { return !slices.Contains(r.Jobs, id) })
	})},
	{name: "a request to cancel is made for ever", noticed: []string{"renew of many"}, apply: func(b *broken) {
		requested := map[job.ID]bool{}
		b.renew = func(ctx context.Context, r job.Renewal) (job.Renewed, error) {
			got, err := b.Store.Renew(ctx, r)
			for _, id := range got.Canceled {
				requested[id] = true
			}
			for _, id := range r.Jobs {
				if b.stored(ctx, id).CancelRequested || requested[id] || b.stored(ctx, id).Died > 0 {
					requested[id] = true
				}
			}
			got.Canceled = nil
			for id := range requested {
				got.Canceled = append(got.Canceled, id)
			}
			return got, err
		}
	}},
	{name: "renew drops the info", noticed: []string{"workers are those that renew, until they leave"}, apply: renewAs(func(r *job.Renewal) { r.Info = job.WorkerInfo{} }, nil)},
	{name: "workers cannot leave", noticed: []string{"workers are those that renew, until they leave"}, apply: func(b *broken) { b.leave = func() error { return nil } }},
	{name: "workers are unsorted", noticed: []string{"workers are those that renew, until they leave"}, apply: func(b *broken) {
		b.workers = func(w []job.WorkerInfo) []job.WorkerInfo { slices.Reverse(w); return w }
	}},
}

// renewAs alters the renewal and its answer; either may be nil.
func renewAs(ask func(r *job.Renewal), answer func(r job.Renewal, got *job.Renewed)) func(b *broken) {
	return func(b *broken) {
		b.renew = func(ctx context.Context, r job.Renewal) (job.Renewed, error) {
			r.Stats, r.Trees = slices.Clone(r.Stats), slices.Clone(r.Trees)
			if ask != nil {
				ask(&r)
			}
			got, err := b.Store.Renew(ctx, r)
			if answer != nil {
				answer(r, &got)
			}
			return got, err
		}
	}
}
