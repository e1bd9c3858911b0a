package jobtest

import (
	"context"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of jobs that follow outcomes.
var thenFaults = []fault{
	{name: "what follows is dropped", noticed: []string{
		"what follows an outcome is inserted with it",
		"what follows is announced to those who wait",
	}, apply: settleWithout(nil)},
	{name: "what follows is inserted although its outcome is lost", noticed: []string{
		"of an outcome that is lost nothing follows",
	}, apply: settleWithout(func(ctx context.Context, b *broken, outcomes []job.Outcome, _ []job.ID) error {
		return b.insertThen(ctx, outcomes, nil)
	})},
	{name: "what follows is inserted in a transaction of its own", noticed: []string{
		"an outcome is not written without what follows",
	}, apply: settleWithout(func(ctx context.Context, b *broken, outcomes []job.Outcome, lost []job.ID) error {
		return b.insertThen(ctx, outcomes, lost)
	})},
	{name: "what follows is inserted before its outcome is written", noticed: []string{
		"of what follows, a job whose unique key is held is left out",
	}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			if err := b.insertThen(ctx, outcomes, nil); err != nil {
				return nil, err
			}
			return b.Store.Settle(ctx, session, job.Outcomes(jobsOf(outcomes)...)...)
		}
	}},
	{name: "any number of jobs may follow", noticed: []string{"what follows one outcome is bounded"}, apply: settleWithout(func(ctx context.Context, b *broken, outcomes []job.Outcome, lost []job.ID) error {
		var parts []job.Outcome
		for _, o := range outcomes {
			for _, j := range o.Then {
				parts = append(parts, job.Outcome{Job: o.Job, Then: []*job.Job{j}})
			}
		}
		return b.insertThen(ctx, parts, lost)
	})},
}

// settleWithout settles outcomes without the jobs that follow, and then calls then.
func settleWithout(then func(ctx context.Context, b *broken, outcomes []job.Outcome, lost []job.ID) error) func(b *broken) {
	return func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			lost, err := b.Store.Settle(ctx, session, job.Outcomes(jobsOf(outcomes)...)...)
			if err == nil && then != nil {
				err = then(ctx, b, outcomes, lost)
			}
			return lost, err
		}
	}
}

// insertThen inserts the jobs that follow outcomes, except lost ones.
func (b *broken) insertThen(ctx context.Context, outcomes []job.Outcome, lost []job.ID) error {
	jobs, err := job.FollowUps(outcomes, lost)
	if err == nil && len(jobs) > 0 {
		_, err = b.Store.Insert(ctx, jobs...)
	}
	return err
}
