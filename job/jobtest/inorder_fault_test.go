package jobtest

import (
	"context"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// oneAtATime drops the order of jobs, but still runs one job of a key at a time.
func oneAtATime(l *job.Limits) {
	if l.EachKey.InOrder {
		l.EachKey = job.KeyLimits{Running: 1}
	}
}

// Faults of jobs that run in order.
var inOrderFaults = []fault{
	{name: "jobs in order run one at a time, in any order", noticed: []string{
		"jobs of a key in order run one at a time, as they were enqueued",
		"a job in order that waits holds back those behind it, and no others",
		"a job in order that ends lets the next go on, however it ends",
		"workers at once keep the order",
		"a job in order of another kind holds back its key, and no other",
		"jobs are put in order, and out of it, at once",
		"after random actions what runs is what the limits allow",
	}, apply: limitAs(oneAtATime)},
	{name: "jobs in order begin in order, two at a time", noticed: []string{
		"jobs of a key in order run one at a time, as they were enqueued",
	}, apply: limitAs(func(l *job.Limits) {
		if l.EachKey.InOrder {
			l.EachKey = job.KeyLimits{Running: 2}
		}
	})},
	{name: "jobs in order are those of the whole queue", noticed: []string{
		"jobs of a key in order run one at a time, as they were enqueued",
		"a job in order that waits holds back those behind it, and no others",
		"a job in order of another kind holds back its key, and no other",
	}, apply: limitAs(func(l *job.Limits) {
		if l.EachKey.InOrder {
			l.Running = 1
		}
	})},
	{name: "a discarded job in order holds up its key", noticed: []string{
		"a job in order that ends lets the next go on, however it ends",
	}, apply: func(b *broken) {
		var stuck []string
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			for _, o := range outcomes {
				if o.Job.State == job.Discarded {
					stuck = append(stuck, o.Job.LimitKey)
				}
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			got, err := b.Store.Claim(ctx, c)
			got.Jobs = slices.DeleteFunc(got.Jobs, func(j *job.Job) bool { return slices.Contains(stuck, j.LimitKey) })
			return got, err
		}
	}},
	{name: "a job in order that was taken away holds up its key", noticed: []string{
		"a job in order that waits and is taken away lets the next go on",
	}, apply: func(b *broken) {
		away := map[string]bool{}
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
			for _, id := range f.IDs {
				if j := b.stored(ctx, id); j != nil && j.State == job.Queued {
					away[j.LimitKey] = true
				}
			}
			return b.Store.Apply(ctx, f, action)
		}
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			if away["a"] {
				return job.Claimed{}, nil
			}
			return b.Store.Claim(ctx, c)
		}
	}},
	{name: "order is for ever", noticed: []string{"jobs are put in order, and out of it, at once"}, apply: func(b *broken) {
		set := false
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			set = set || l.EachKey.InOrder
			l.EachKey.InOrder = set
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
}
