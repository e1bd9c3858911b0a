package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Claim and of leases.
var claimFaults = []fault{
	{name: "claim forgets to set what it says", noticed: []string{"prune leaves a job that was queued again"}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) {
		for _, j := range got.Jobs {
			j.Attempt--
		}
	})},
	{name: "claim returns no start", noticed: []string{
		"settle in a final state",
		"workers at once claim each job once",
	}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) {
		for _, j := range got.Jobs {
			j.Started = time.Time{}
		}
	})},
	{name: "a claim can be repeated", noticed: []string{"a job is claimed once"}, apply: func(b *broken) {
		var last *job.Job
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			got, err := b.Store.Claim(ctx, c)
			if len(got.Jobs) == 0 && last != nil && c.Limit > 0 {
				again := *last
				again.Worker = c.Worker
				got.Jobs, last = append(got.Jobs, &again), nil
			} else if len(got.Jobs) > 0 {
				last = got.Jobs[0]
			}
			return got, err
		}
	}},
	{name: "attempts are not counted", noticed: []string{"a retried job has all its attempts and keeps what it has gathered"}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			got, err := b.Store.Claim(ctx, c)
			for _, j := range got.Jobs {
				j.Attempt = 1
			}
			return got, err
		}
	}},
	{name: "a durable claim takes nothing", noticed: []string{"a durable claim takes what is due"}, apply: claimAs(func(c *job.Claim) {
		if c.Durable {
			c.Limit = 0
		}
	}, nil)},
	{name: "a queue counts as often as it is named", noticed: []string{"a queue that is named twice counts once"}, apply: claimAs(func(c *job.Claim) {
		sum := map[string]int{}
		for _, q := range c.Queues {
			sum[q.Queue] += q.Limit
		}
		for i := range c.Queues {
			c.Queues[i].Limit = sum[c.Queues[i].Queue]
		}
	}, nil)},
	{name: "limits of claims have 32 bits", noticed: []string{"a claim with a limit far above what there is takes all"}, apply: claimAs(func(c *job.Claim) {
		c.Limit = int(int32(c.Limit))
	}, nil)},
	{name: "claim ignores its limit", noticed: []string{"claim of nothing"}, apply: claimAs(func(c *job.Claim) { c.Limit = 1000 }, nil)},
	{name: "claim takes one when asked for none", noticed: []string{"claim of nothing"}, apply: claimAs(func(c *job.Claim) {
		c.Limit = max(c.Limit, 1)
		for i := range c.Queues {
			c.Queues[i].Limit = max(c.Queues[i].Limit, 1)
		}
	}, nil)},
	{name: "claim ignores the limits of queues", noticed: []string{"claim of nothing"}, apply: claimAs(func(c *job.Claim) {
		for i := range c.Queues {
			c.Queues[i].Limit = c.Limit
		}
	}, nil)},
	{name: "claim takes queues in another order", noticed: []string{
		"queues are taken from in order",
		"a claim keeps to its limits",
	}, apply: claimAs(func(c *job.Claim) { slices.Reverse(c.Queues) }, nil)},
	{name: "claim takes from all queues", noticed: []string{"claim of nothing"}, apply: claimAs(func(c *job.Claim) {
		if len(c.Queues) > 0 {
			c.Queues = append(c.Queues, queues(100, "c", "q", "other", job.DefaultQueue)...)
		}
	}, nil)},
	{name: "claim ignores the kinds", noticed: []string{
		"claim takes only the kinds that it names",
		"claim takes over only the kinds that it names",
	}, apply: claimAs(func(c *job.Claim) { c.Kinds = nil }, nil)},
	{name: "claim of no kinds is of all", noticed: []string{"claim takes only the kinds that it names"}, apply: claimAs(func(c *job.Claim) {
		if len(c.Kinds) == 0 {
			c.Kinds = nil
		}
	}, nil)},
	{name: "claim returns jobs out of order", noticed: []string{"of the jobs of one call the first has the unique key"}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) { slices.Reverse(got.Jobs) })},
	{name: "priorities are ignored", noticed: []string{"claim gives a job with all its fields"}, apply: insertAs(func(j *job.Job) { j.Priority = 5 })},
	{name: "priorities are upside down", noticed: []string{"a higher priority is claimed first"}, apply: insertAs(func(j *job.Job) { j.Priority = 10 - j.Priority })},
	{name: "times due are rounded to the day", noticed: []string{"of one priority what is due longer is claimed first"}, apply: insertAs(func(j *job.Job) {
		if j.RunAt.Before(time.Now()) {
			j.RunAt = j.RunAt.Truncate(24 * time.Hour)
		}
	})},
	{name: "of one time the order is that of the insertion", noticed: []string{"of one time what is older is claimed first"}, apply: func(b *broken) {
		n := 0
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			return b.Store.Insert(ctx, copies(jobs, func(j *job.Job) {
				if n++; !j.RunAt.IsZero() {
					j.RunAt = j.RunAt.Add(time.Duration(n))
				}
			})...)
		}
	}},
	{name: "claim says nothing of the next", noticed: []string{
		"claim leaves what is not due, and says when it is",
		"claim leaves out paused queues",
	}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) { got.Next = 0 })},
	{name: "claim makes up a next", noticed: []string{"claim of nothing"}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) { got.Next = time.Hour })},
	{name: "expired leases are taken without being asked for", noticed: []string{
		"an expired lease is claimed when asked for",
	}, apply: claimAs(func(c *job.Claim) { c.Expired = true }, nil)},
	{name: "expired leases are never taken", noticed: []string{"renew sets the lease from now, also to less"}, apply: claimAs(func(c *job.Claim) { c.Expired = false }, nil)},
	{name: "leases run out at once", noticed: []string{"a lease that has not run out is left alone"}, apply: claimAs(func(c *job.Claim) { c.Lease = 1 }, nil)},
	{name: "a claim sets the lease of its session", noticed: []string{
		"a claim leaves the lease of a session that is under way as it is",
	}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			got, err := b.Store.Claim(ctx, c)
			if err == nil {
				_, err = b.Store.Renew(ctx, job.Renewal{Worker: c.Worker, Session: c.Session, Lease: c.Lease})
			}
			return got, err
		}
	}},
	{name: "a claim after one without an answer leaves the lease as it is", noticed: []string{
		"a claim after one without an answer sets the lease anew",
	}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			got, err := b.Store.Claim(ctx, c)
			if err == nil && c.Since > 0 {
				_, err = b.Store.Renew(ctx, job.Renewal{Worker: c.Worker, Session: c.Session, Lease: short})
			}
			return got, err
		}
	}},
	{name: "nobody gets the jobs of an answer that was lost", noticed: []string{
		"a claim after one without an answer sets the lease anew",
		"what a claim without an answer has taken is given again",
		"a claim that comes after one which missed its answer takes nothing",
	}, apply: claimAs(func(c *job.Claim) { c.Since = 0 }, nil)},
	{name: "expired leases come last", noticed: []string{"jobs with expired leases come first, and within the limits"}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			fresh := c
			fresh.Expired = false
			got, err := b.Store.Claim(ctx, fresh)
			if err != nil || len(got.Jobs) > 0 {
				return got, err
			}
			return b.Store.Claim(ctx, c)
		}
	}},
	{name: "expired leases do not count as deaths", noticed: []string{"an expired lease is claimed when asked for"}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) {
		for _, j := range got.Jobs {
			j.Crashed = 0
		}
	})},
	{name: "deaths are not stored", noticed: []string{"an expired job is claimed again and again"}, apply: func(b *broken) {
		b.list = func(ctx context.Context, f job.Filter) ([]*job.Job, error) {
			jobs, err := b.Store.List(ctx, f)
			for _, j := range jobs {
				j.Crashed = 0
			}
			return jobs, err
		}
	}},
	{name: "a request to cancel dies with the process", noticed: []string{
		"a claim of a job whose lease ran out keeps the request to cancel",
	}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) {
		for _, j := range got.Jobs {
			j.CancelRequested = false
		}
	})},
	{name: "a claim asks to cancel", noticed: []string{
		"a claim clears the request to cancel",
	}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) {
		for _, j := range got.Jobs {
			j.CancelRequested = true
		}
	})},
	{name: "who held an expired lease is not said", noticed: []string{
		"workers that come, die and go on too late lose nothing",
	}, apply: claimAs(nil, func(_ job.Claim, got *job.Claimed) { got.Expired = nil })},
	{name: "a claim gives the wrong worker for an expired lease", noticed: []string{
		"an expired lease is claimed when asked for",
	}, apply: claimAs(nil, func(c job.Claim, got *job.Claimed) {
		for id := range got.Expired {
			got.Expired[id] = c.Worker
		}
	})},
}
