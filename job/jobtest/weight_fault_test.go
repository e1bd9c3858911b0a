package jobtest

import (
	"context"

	"github.com/meanwhile-go/meanwhile/job"
)

// limitKeyAs sets limits of keys that alter has changed.
func limitKeyAs(alter func(l *job.KeyLimits)) func(b *broken) {
	return func(b *broken) {
		b.setKey = func(ctx context.Context, queue, key string, l job.KeyLimits) error {
			alter(&l)
			return b.Store.SetKeyLimits(ctx, queue, key, l)
		}
	}
}

// weightAs makes some claims use another weight for each key.
func weightAs(in func(c job.Claim) bool, weight int) func(b *broken) {
	return func(b *broken) {
		var limits job.Limits
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			limits = l
			return b.Store.SetLimits(ctx, queue, l)
		}
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			l := limits
			if in(c) {
				l.EachKey.Weight = weight
			}
			if err := b.Store.SetLimits(ctx, job.DefaultQueue, l); err != nil {
				return job.Claimed{}, err
			}
			return b.Store.Claim(ctx, c)
		}
	}
}

// Faults of weighted turns.
var weightFaults = []fault{
	{name: "weights of keys are ignored", noticed: []string{
		"keys take turns by their weights, and one that waits alone gets all",
	}, apply: limitKeyAs(func(l *job.KeyLimits) { l.Weight = 0 })},
	{name: "the weight of each key is ignored", noticed: []string{
		"the weight of each key is that of keys without their own, and jobs without a key have one",
		"a turn that is not used up goes on in the next claim",
	}, apply: limitAs(func(l *job.Limits) { l.EachKey.Weight = 0 })},
	{name: "turns are too long", noticed: []string{
		"keys take turns by their weights, and one that waits alone gets all",
		"a key with one job waits for no more starts of each other key than its weight",
	}, apply: limitKeyAs(func(l *job.KeyLimits) { l.Weight *= 2 })},
	{name: "a claim of one job begins a new turn", noticed: []string{"a turn that is not used up goes on in the next claim"}, apply: weightAs(
		func(c job.Claim) bool { return c.Limit == 1 }, 0)},
	{name: "the key that is first stays it in claims of some kinds", noticed: []string{
		"keys take turns in claims of one kind, though they have jobs of others with higher priorities",
	}, apply: weightAs(func(c job.Claim) bool { return c.Kinds != nil }, 100)},
	{name: "a turn that is not used up ends the claim", noticed: []string{"a key that cannot use up its turn holds up no others"}, apply: claimAs(func(c *job.Claim) {
		if c.Kinds != nil {
			c.Limit = min(c.Limit, 4)
		}
	}, nil)},
}
