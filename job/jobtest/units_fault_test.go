package jobtest

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of units.
var unitsFaults = []fault{
	{name: "units are ignored", noticed: []string{
		"units bound how fast jobs of a queue start, by what they cost",
		"units of each key bound how fast its jobs start",
		"a job that costs more than all units starts, and those after it wait",
		"what was spent counts instead of the cost, however the job ends, unless it is lost",
		"units that were not spent are given back",
		"units count the jobs that a claim takes: of its kinds, and the first of those in order",
		"workers at once use no more units than there are",
	}, apply: limitAs(func(l *job.Limits) { l.Units, l.EachKey.Units = job.Rate{}, job.Rate{} })},
	{name: "the cost of a job is not kept", noticed: []string{
		"units bound how fast jobs of a queue start, by what they cost",
		"a job that costs more than all units starts, and those after it wait",
	}, apply: insertAs(func(j *job.Job) { j.Cost = 0 })},
	{name: "units are said of the queue, not of each key", noticed: []string{
		"units of each key bound how fast its jobs start",
	}, apply: limitAs(func(l *job.Limits) { l.Units, l.EachKey.Units = l.EachKey.Units, job.Rate{} })},
	{name: "a queue has more units", noticed: []string{
		"units bound how fast jobs of a queue start, by what they cost",
		"workers at once use no more units than there are",
	}, apply: limitAs(func(l *job.Limits) {
		if l.Units.N > 0 {
			l.Units.Burst, l.EachKey.Units.Burst = l.Units.Burst+50, l.EachKey.Units.Burst*2
		}
	})},
	{name: "a large job waits for ever", noticed: []string{
		"a job that costs more than all units starts, and those after it wait",
	}, apply: insertAs(func(j *job.Job) {
		if j.Cost > 100 {
			j.RunAt, j.Delay = time.Time{}, 1e6*time.Hour
		}
	})},
	{name: "only what the job was to cost counts", noticed: []string{
		"what was spent counts instead of the cost, however the job ends, unless it is lost",
		"units that were not spent are given back",
	}, apply: throttleAs(func(o *job.Outcome) { o.Units = 0 })},
	{name: "what was spent counts of completed jobs", noticed: []string{
		"what was spent counts instead of the cost, however the job ends, unless it is lost",
	}, apply: throttleAs(func(o *job.Outcome) {
		if o.Job.State != job.Completed {
			o.Units = 0
		}
	})},
	{name: "what was not spent is lost", noticed: []string{
		"units that were not spent are given back",
	}, apply: throttleAs(func(o *job.Outcome) { o.Units = max(o.Units, 0) })},
	{name: "a lost job spends", noticed: []string{
		"what was spent counts instead of the cost, however the job ends, unless it is lost",
	}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			lost, err := b.Store.Settle(ctx, session, outcomes...)
			if len(lost) > 0 {
				b.limits = func(use job.LimitUse) job.LimitUse {
					use.QueueUnits += time.Hour
					return use
				}
			}
			return lost, err
		}
	}},
	{name: "a job whose lease has run out uses units again", noticed: []string{
		"a job whose lease has run out is claimed again without units",
	}, apply: func(b *broken) {
		closed := false
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			if closed {
				return job.Claimed{}, nil
			}
			got, err := b.Store.Claim(ctx, c)
			closed = len(got.Expired) > 0
			return got, err
		}
	}},
	{name: "what other kinds cost counts", noticed: []string{
		"units count the jobs that a claim takes: of its kinds, and the first of those in order",
	}, apply: claimAs(func(c *job.Claim) {
		if c.Kinds != nil {
			c.Limit = 1
		}
	}, nil)},
	{name: "the use of units is not returned", noticed: []string{
		"limits are returned with how far their units are used",
	}, apply: func(b *broken) {
		b.limits = func(use job.LimitUse) job.LimitUse {
			use.QueueUnits, use.KeyUnits = 0, 0
			return use
		}
	}},
}
