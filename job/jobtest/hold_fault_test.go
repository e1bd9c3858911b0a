package jobtest

import (
	"context"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// heldAs changes limits with which a discarded job holds its key, as alter does.
func heldAs(alter func(l *job.Limits)) func(b *broken) {
	return limitAs(func(l *job.Limits) {
		if l.EachKey.HoldOnDiscard {
			alter(l)
		}
	})
}

// Faults of discarded jobs that hold their keys.
var holdFaults = []fault{
	{name: "a discarded job holds nothing", noticed: []string{
		"a discarded job holds those of its key behind it",
		"a discarded job that is retried runs first, and then its key goes on",
		"a discarded job that is deleted, or pruned, lets its key go on",
		"each discarded job holds those behind it, and not those before it",
		"a key in order is held as long as that is set, by what was discarded since",
		"after random actions no job in order runs that a discarded one holds, and all others do",
	}, apply: heldAs(func(l *job.Limits) { l.EachKey.HoldOnDiscard = false })},
	{name: "a discarded job holds its whole queue", noticed: []string{
		"a discarded job holds no other key",
	}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			for _, q := range c.Queues {
				uses, err := b.Store.Limits(ctx, q.Queue, "a")
				if err == nil && uses[0].KeyDiscarded != (job.ID{}) {
					c.Queues = nil
				}
			}
			return b.Store.Claim(ctx, c)
		}
	}},
	{name: "a retried job leaves its key held", noticed: []string{
		"a discarded job that is retried runs first, and then its key goes on",
		"each discarded job holds those behind it, and not those before it",
	}, apply: func(b *broken) { keepHeld(b, func(action job.Action) bool { return action.To == job.Queued }) }},
	{name: "a deleted job leaves its key held", noticed: []string{
		"a discarded job that is deleted, or pruned, lets its key go on",
		"each discarded job holds those behind it, and not those before it",
	}, apply: func(b *broken) { keepHeld(b, func(action job.Action) bool { return action.To == "" }) }},
	{name: "keys stay held when the limit is removed", noticed: []string{
		"a key in order is held as long as that is set, by what was discarded since",
	}, apply: func(b *broken) {
		set := false
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			set = set || l.EachKey.HoldOnDiscard
			l.EachKey.HoldOnDiscard = set && l.EachKey.InOrder
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "limits are never removed", noticed: []string{
		"what was discarded before the limits were removed holds nothing when they are set again",
	}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			if l == (job.Limits{}) {
				return nil
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "nothing is said of what holds a key", noticed: []string{
		"a discarded job holds those of its key behind it",
		"each discarded job holds those behind it, and not those before it",
	}, apply: func(b *broken) {
		b.limits = func(use job.LimitUse) job.LimitUse {
			use.KeyDiscarded = job.ID{}
			return use
		}
	}},
	{name: "a canceled job holds its key", noticed: []string{
		"a job that is moved, or ends otherwise, holds nothing",
	}, apply: settleAs(func(j *job.Job) {
		if j.State == job.Canceled && j.LimitKey != "" {
			j.State = job.Discarded
		}
	})},
}

// keepHeld makes Claim return nothing after an action that should have released the key "a".
func keepHeld(b *broken, of func(action job.Action) bool) {
	var stuck []string
	b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
		for _, id := range f.IDs {
			if j := b.stored(ctx, id); j != nil && j.State == job.Discarded && of(action) {
				stuck = append(stuck, j.LimitKey)
			}
		}
		return b.Store.Apply(ctx, f, action)
	}
	b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
		if slices.Contains(stuck, "a") {
			return job.Claimed{}, nil
		}
		return b.Store.Claim(ctx, c)
	}
}
