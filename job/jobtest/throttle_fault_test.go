package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// throttleAs settles outcomes that alter has changed.
func throttleAs(alter func(o *job.Outcome)) func(b *broken) {
	return func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			outcomes = slices.Clone(outcomes)
			for i := range outcomes {
				alter(&outcomes[i])
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
	}
}

// Faults of throttling.
var throttleFaults = []fault{
	{name: "only the throttled job is held back", noticed: []string{
		"a throttled job holds back its key, and no other",
		"a throttled job without a key holds back its queue",
		"what is throttled for longer counts, and limits change nothing of it",
		"what is throttled starts again when its queue is resumed",
	}, apply: throttleAs(func(o *job.Outcome) { o.Throttle = 0 })},
	{name: "a throttled job holds back its whole queue", noticed: []string{
		"a throttled job holds back its key, and no other",
	}, apply: func(b *broken) {
		throttled := map[string]bool{}
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			for _, o := range outcomes {
				throttled[o.Job.Queue] = throttled[o.Job.Queue] || o.Throttle > 0
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			c.Queues = slices.DeleteFunc(slices.Clone(c.Queues), func(q job.QueueLimit) bool { return throttled[q.Queue] })
			return b.Store.Claim(ctx, c)
		}
	}},
	{name: "what is throttled starts a little early", noticed: []string{
		"what was throttled starts again when the time is over",
	}, apply: throttleAs(func(o *job.Outcome) {
		if o.Throttle > 0 && o.Throttle < time.Minute {
			early := *o.Job
			early.Delay -= early.Delay / 2
			o.Job, o.Throttle = &early, o.Throttle/2
		}
	})},
	{name: "the time of what is throttled never ends", noticed: []string{
		"what was throttled starts again when the time is over",
	}, apply: throttleAs(func(o *job.Outcome) { o.Throttle *= 1 << 12 })},
	{name: "what throttled last counts", noticed: []string{
		"what is throttled for longer counts, and limits change nothing of it",
	}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			if err := b.Store.Pause(ctx, job.DefaultQueue, false); err != nil {
				return nil, err
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
	}},
	{name: "limits end what was throttled", noticed: []string{
		"what is throttled for longer counts, and limits change nothing of it",
	}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			if err := b.Store.Pause(ctx, queue, false); err != nil {
				return err
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "only a job that is queued again holds others back", noticed: []string{
		"whatever becomes of a throttled job, others are held back, unless it is lost",
	}, apply: throttleAs(func(o *job.Outcome) {
		if o.Job.State != job.Queued {
			o.Throttle = 0
		}
	})},
	{name: "a lost job holds others back", noticed: []string{
		"whatever becomes of a throttled job, others are held back, unless it is lost",
	}, apply: func(b *broken) {
		throttled := false
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			for _, o := range outcomes {
				throttled = throttled || o.Throttle > 0
			}
			return b.Store.Settle(ctx, session, outcomes...)
		}
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			if throttled {
				return job.Claimed{}, nil
			}
			return b.Store.Claim(ctx, c)
		}
	}},
	{name: "a resumed queue stays throttled", noticed: []string{
		"what is throttled starts again when its queue is resumed",
	}, apply: func(b *broken) {
		b.pause = func(queue string, _ bool) (string, bool) { return queue, true }
	}},
	{name: "what is throttled is not returned", noticed: []string{"limits are returned with what is throttled"}, apply: func(b *broken) {
		b.limits = func(use job.LimitUse) job.LimitUse {
			use.QueueHeld, use.KeyHeld = 0, 0
			return use
		}
	}},
}
