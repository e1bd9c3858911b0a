package jobtest

import (
	"context"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of limits of single keys.
var overrideFaults = []fault{
	{name: "limits of one key are ignored", noticed: []string{
		"limits of one key hold in place of those of each key, at once, until they are removed",
		"limits of one key need none of the queue, and outlive those and its jobs",
		"a rate of one key is its own, and begins with its whole burst when it is new",
		"units of one key are its own, also what is booked when a job is settled",
		"the limits of one key are returned with how far they are used",
		"the limits of single keys are listed in pages, by key",
		"after random actions what runs is what the limits allow",
	}, apply: func(b *broken) {
		b.setKey = func(context.Context, string, string, job.KeyLimits) error { return nil }
	}},
	{name: "limits of one key are those of each", noticed: []string{
		"limits of one key hold in place of those of each key, at once, until they are removed",
		"limits of one key need none of the queue, and outlive those and its jobs",
	}, apply: func(b *broken) {
		b.setKey = func(ctx context.Context, queue, _ string, l job.KeyLimits) error {
			return b.Store.SetLimits(ctx, queue, job.Limits{EachKey: l})
		}
	}},
	{name: "limits of one key cannot be removed", noticed: []string{
		"limits of one key hold in place of those of each key, at once, until they are removed",
		"the limits of single keys are listed in pages, by key",
	}, apply: func(b *broken) {
		b.setKey = func(ctx context.Context, queue, key string, l job.KeyLimits) error {
			if l == (job.KeyLimits{}) {
				return nil
			}
			return b.Store.SetKeyLimits(ctx, queue, key, l)
		}
	}},
	{name: "limits of one key go with those of the queue", noticed: []string{
		"limits of one key need none of the queue, and outlive those and its jobs",
	}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			if l == (job.Limits{}) {
				if err := b.Store.SetKeyLimits(ctx, queue, "a", job.KeyLimits{}); err != nil {
					return err
				}
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "a rate of one key begins anew with each change", noticed: []string{
		"a rate of one key is its own, and begins with its whole burst when it is new",
	}, apply: func(b *broken) {
		b.setKey = func(ctx context.Context, queue, key string, l job.KeyLimits) error {
			if err := b.Store.SetKeyLimits(ctx, queue, key, job.KeyLimits{}); err != nil {
				return err
			}
			return b.Store.SetKeyLimits(ctx, queue, key, l)
		}
	}},
	{name: "a rate of one key begins anew with that of each key", noticed: []string{
		"a rate of one key is its own, and begins with its whole burst when it is new",
	}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			own, err := b.Store.Overrides(ctx, queue, "", 1)
			if err == nil && len(own) > 0 {
				if err := b.Store.SetKeyLimits(ctx, queue, own[0].Key, job.KeyLimits{}); err != nil {
					return err
				}
				err = b.Store.SetKeyLimits(ctx, queue, own[0].Key, own[0].KeyLimits)
			}
			if err != nil {
				return err
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "what was spent does not count for one key", noticed: []string{
		"units of one key are its own, also what is booked when a job is settled",
	}, apply: throttleAs(func(o *job.Outcome) { o.Units = 0 })},
	{name: "limits of one key end the order", noticed: []string{
		"limits of one key leave the order of its jobs as it is",
	}, apply: func(b *broken) {
		b.setKey = func(ctx context.Context, queue, key string, l job.KeyLimits) error {
			if err := b.Store.SetLimits(ctx, queue, job.Limits{}); err != nil {
				return err
			}
			return b.Store.SetKeyLimits(ctx, queue, key, l)
		}
	}},
	{name: "limits of one key are not returned", noticed: []string{
		"the limits of one key are returned with how far they are used",
	}, apply: func(b *broken) {
		b.limits = func(use job.LimitUse) job.LimitUse {
			use.Own, use.Overrides = job.KeyLimits{}, 0
			return use
		}
	}},
	{name: "limits of single keys are listed from the first", noticed: []string{
		"the limits of single keys are listed in pages, by key",
	}, apply: func(b *broken) {
		b.overrides = func(ctx context.Context, queue, _ string, n int) ([]job.Override, error) {
			return b.Store.Overrides(ctx, queue, "", n)
		}
	}},
	{name: "all limits of single keys are listed", noticed: []string{
		"the limits of single keys are listed in pages, by key",
	}, apply: func(b *broken) {
		b.overrides = func(ctx context.Context, queue, after string, _ int) ([]job.Override, error) {
			return b.Store.Overrides(ctx, queue, after, job.MaxOverrides)
		}
	}},
	{name: "all limits of one key are taken", noticed: []string{
		"limits of one key that are out of their range are refused",
	}, apply: func(b *broken) {
		b.setKey = func(ctx context.Context, queue, key string, l job.KeyLimits) error {
			if job.CheckKeyLimits(queue, key, l) != nil {
				return nil
			}
			return b.Store.SetKeyLimits(ctx, queue, key, l)
		}
	}},
	{name: "wait is deaf where keys have limits", noticed: []string{
		"wait returns when limits of a key allow more",
	}, apply: func(b *broken) {
		b.setKey = func(ctx context.Context, queue, key string, l job.KeyLimits) error {
			b.wait = func(ctx context.Context, _ []string) ([]string, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return b.Store.SetKeyLimits(ctx, queue, key, l)
		}
	}},
}
