package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Settle, Renew, Leave and Workers.
var settleFaults = []fault{
	{name: "there is no fence", noticed: []string{"who lost a lease cannot settle"}, apply: withoutFence(func(_, _ *job.Job, _ job.Session) bool { return true })},
	{name: "the fence is the session alone", noticed: []string{
		"a worker that lost a lease to itself cannot settle the old attempt",
	}, apply: withoutFence(func(stored, _ *job.Job, session job.Session) bool { return sessionOf(stored.Worker) == session })},
	{name: "the fence is the attempt alone", noticed: []string{"settle by another worker, or of another attempt, is lost"}, apply: withoutFence(func(stored, j *job.Job, _ job.Session) bool { return stored.Attempt == j.Attempt })},
	{name: "what a settle loses is not said", noticed: []string{"counts do not count a job twice"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			_, err := b.Store.Settle(ctx, session, outcomes...)
			return nil, err
		}
	}},
	{name: "all is lost", noticed: []string{"prune leaves a job that was queued again"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			_, err := b.Store.Settle(ctx, session, outcomes...)
			return ids(jobsOf(outcomes)), err
		}
	}},
	{name: "one that is lost loses all", noticed: []string{"settle of many, some of them lost"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			for _, j := range jobsOf(outcomes) {
				if s := b.stored(ctx, j.ID); s == nil || s.State != job.Running || s.Attempt != j.Attempt || sessionOf(s.Worker) != session {
					return ids(jobsOf(outcomes)), nil
				}
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
	}},
	{name: "settle says it wrote and does not", noticed: []string{
		"a lease that ran out can be settled until the job is claimed",
	}, apply: func(b *broken) {
		b.settle = func(context.Context, job.Session, []job.Outcome) ([]job.ID, error) { return nil, nil }
	}},
	{name: "settle writes at most a thousand", noticed: []string{"settle of many at once"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			return b.Store.Settle(ctx, session, outcomes[:min(len(outcomes), 1000)]...)
		}
	}},
	{name: "settle of none is an error", noticed: []string{"settle of none"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			if len(outcomes) == 0 {
				return nil, job.ErrNotFound
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
	}},
	{name: "settle changes the jobs", noticed: []string{"settle leaves its jobs as they are"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			lost, err := b.Store.Settle(ctx, session, outcomes...)
			for _, j := range jobsOf(outcomes) {
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
	{name: "settle drops what is uncounted", noticed: []string{"settle as queued writes when it is due and what changed"}, apply: settleAs(func(j *job.Job) { j.Uncounted = 0 })},
	{name: "settle discards what it should cancel", noticed: []string{
		"settle of what is settled is lost",
		"a retried job has all its attempts and keeps what it has gathered",
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
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			if time.Now().After(until) {
				return ids(jobsOf(outcomes)), nil
			}
			return b.Store.Settle(ctx, session, outcomes...)
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
	{name: "renew says nothing of what is lost", noticed: []string{"renew tells what was lost"}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Lost = nil })},
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
				if b.stored(ctx, id).CancelRequested || requested[id] || b.stored(ctx, id).Crashed > 0 {
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
	{name: "a lease is that of the jobs that are named", noticed: []string{
		"one lease holds all jobs of a session, and no others",
	}, apply: renewAs(func(r *job.Renewal) {
		if len(r.Jobs) == 0 {
			r.Session = 7
		}
	}, nil)},
	{name: "renew drops nothing", noticed: []string{
		"a job that its session drops can be claimed at once",
		"a worker that lost a lease to itself cannot settle the old attempt",
	}, apply: renewAs(func(r *job.Renewal) { r.Drop = nil }, nil)},
	{name: "sessions of one name are one", noticed: []string{"two sessions of one name hold their own jobs"}, apply: func(b *broken) {
		of := map[job.Session]job.Session{}
		claimAs(func(c *job.Claim) {
			of[c.Session] = sessionOf(c.Worker)
			c.Session = of[c.Session]
		}, nil)(b)
		renewAs(func(r *job.Renewal) { r.Session = sessionOf(r.Worker) }, nil)(b)
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			return b.Store.Settle(ctx, of[session], outcomes...)
		}
	}},
	{name: "workers cannot leave", noticed: []string{
		"workers are those that renew, until they leave",
		"what a session holds when it leaves can be claimed at once",
	}, apply: func(b *broken) { b.leave = func() error { return nil } }},
	{name: "workers of any name are returned", noticed: []string{"workers are those that renew, until they leave"}, apply: func(b *broken) {
		b.names = func([]string) []string { return nil }
	}},
	{name: "workers are unsorted", noticed: []string{"workers are those that renew, until they leave"}, apply: func(b *broken) {
		b.workers = func(w []job.WorkerInfo) []job.WorkerInfo { slices.Reverse(w); return w }
	}},
}

// renewAs alters the renewal and its answer; either function may be nil.
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
