package jobtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// limitAs sets limits that alter has changed.
func limitAs(alter func(l *job.Limits)) func(b *broken) {
	return func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			alter(&l)
			return b.Store.SetLimits(ctx, queue, l)
		}
	}
}

// Faults of limits and of turns.
var limitFaults = []fault{
	{name: "the limit of a queue is ignored", noticed: []string{
		"no more jobs of a queue run than its limit",
		"a job gives its room back once, whatever becomes of it",
		"limits are raised, lowered and removed at once",
		"after random actions what runs is what the limits allow",
	}, apply: limitAs(func(l *job.Limits) { l.Running = 0 })},
	{name: "a queue may run one more", noticed: []string{
		"no more jobs of a queue run than its limit",
		"workers at once keep to the limits",
	}, apply: limitAs(func(l *job.Limits) {
		if l.Running > 0 {
			l.Running++
		}
	})},
	{name: "a key may run one more", noticed: []string{
		"no more jobs of a key run than its limit, which holds up no others",
		"a lost settle gives no room back",
		"workers at once keep to the limits",
	}, apply: limitAs(func(l *job.Limits) {
		if l.EachKey.Running > 0 {
			l.EachKey.Running++
		}
	})},
	{name: "a full key holds up the others", noticed: []string{
		"no more jobs of a key run than its limit, which holds up no others",
		"after random actions what runs is what the limits allow",
	}, apply: limitAs(func(l *job.Limits) {
		if l.EachKey.Running > 0 {
			l.Running = l.EachKey.Running
		}
	})},
	{name: "room is given back when the job is deleted", noticed: []string{
		"a job gives its room back once, whatever becomes of it",
	}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			lost, err := b.Store.Settle(ctx, session, outcomes...)
			for _, o := range outcomes {
				if err == nil && o.Job.State != job.Running {
					err = b.leak(ctx, o.Job)
				}
			}
			return lost, err
		}
	}},
	{name: "a lost settle gives room back", noticed: []string{"a lost settle gives no room back"}, apply: func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			lost, err := b.Store.Settle(ctx, session, outcomes...)
			if len(lost) > 0 {
				err = b.Store.SetLimits(ctx, job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 2}})
			}
			return lost, err
		}
	}},
	{name: "a job whose lease has run out needs room", noticed: []string{
		"a job whose lease has run out keeps its room, and is claimed again in it",
	}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			c.Expired = false
			return b.Store.Claim(ctx, c)
		}
	}},
	{name: "limits stay as they were first", noticed: []string{"limits are raised, lowered and removed at once"}, apply: func(b *broken) {
		set := false
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			if set {
				return nil
			}
			set = true
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "limits are set soon", noticed: []string{"limits that are set beside claims count what those take"}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			time.AfterFunc(time.Millisecond, func() { _ = b.Store.SetLimits(context.WithoutCancel(ctx), queue, l) })
			return nil
		}
	}},
	{name: "rates are ignored", noticed: []string{
		"a rate bounds how fast jobs of a queue start",
		"a rate of each key bounds how fast its jobs start",
		"jobs start as the rate says, evenly",
		"limits are returned, with how far they are used",
	}, apply: limitAs(func(l *job.Limits) { l.Starts, l.EachKey.Starts = job.Rate{}, job.Rate{} })},
	{name: "a rate is said of the queue, not of each key", noticed: []string{
		"a rate of each key bounds how fast its jobs start",
	}, apply: limitAs(func(l *job.Limits) { l.Starts, l.EachKey.Starts = l.EachKey.Starts, job.Rate{} })},
	{name: "a burst comes back with each start", noticed: []string{"jobs start as the rate says, evenly"}, apply: limitAs(func(l *job.Limits) {
		if l.Starts.N > 0 {
			l.Starts.Burst += 5
		}
		if l.EachKey.Starts.N > 0 {
			l.EachKey.Starts.Burst += 5
		}
	})},
	{name: "a rate is forgotten when nothing is due", noticed: []string{
		"a key that had nothing to start for a moment keeps its rate",
	}, apply: func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			got, err := b.Store.Claim(ctx, c)
			if err != nil || len(got.Jobs) > 0 {
				return got, err
			}
			uses, err := b.Store.Limits(ctx, job.DefaultQueue, "")
			if err != nil {
				return got, err
			}
			for _, l := range []job.Limits{{}, uses[0].Limits} {
				if err == nil {
					err = b.Store.SetLimits(ctx, job.DefaultQueue, l)
				}
			}
			return got, err
		}
	}},
	{name: "keys take no turns", noticed: []string{"keys take turns, and one that waits alone gets all"}, apply: insertAs(func(j *job.Job) { j.LimitKey = "" })},
	{name: "a key gets one start of each claim", noticed: []string{"keys take turns, and one that waits alone gets all"}, apply: claimAs(func(c *job.Claim) { c.Limit = min(c.Limit, 1) }, nil)},
	{name: "priorities do not count among keys", noticed: []string{
		"a job of a higher priority is claimed before the turns of others",
	}, apply: insertAs(func(j *job.Job) { j.Priority = 5 })},
	{name: "jobs of a key are due at once", noticed: []string{
		"of a key what is due longer is claimed first, and nothing before its time",
	}, apply: insertAs(func(j *job.Job) { j.RunAt, j.Delay = time.Time{}, 0 })},
	{name: "a claim of kinds sees only the first job of a key", noticed: []string{
		"a key whose jobs are of other kinds holds up no others",
	}, apply: claimAs(nil, func(c job.Claim, got *job.Claimed) {
		if c.Kinds != nil {
			got.Jobs = slices.DeleteFunc(got.Jobs, func(j *job.Job) bool { return j.Priority < job.DefaultPriority })
		}
	})},
	{name: "limits end a pause", noticed: []string{"nothing is claimed from a paused queue with limits"}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			if err := b.Store.Pause(ctx, queue, false); err != nil {
				return err
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "the limit key is cut short", noticed: []string{"the limit key of a job stays what it is"}, apply: insertAs(func(j *job.Job) { j.LimitKey = j.LimitKey[:min(len(j.LimitKey), 3)] })},
	{name: "the use of limits is not returned", noticed: []string{"limits are returned, with how far they are used"}, apply: func(b *broken) {
		b.limits = func(use job.LimitUse) job.LimitUse { return job.LimitUse{Limits: use.Limits} }
	}},
	{name: "limits are returned of any number of keys", noticed: []string{"limits are returned of up to so many keys"}, apply: func(b *broken) {
		b.limitsOf = func(ctx context.Context, queue string, keys []string) (uses []job.LimitUse, err error) {
			for part := range slices.Chunk(keys, job.MaxUses) {
				got, partErr := b.Store.Limits(ctx, queue, part...)
				uses, err = append(uses, got...), errors.Join(err, partErr)
			}
			return uses, err
		}
	}},
	{name: "the limits of several keys are returned in another order", noticed: []string{"limits are returned of several keys at once, in their order"}, apply: func(b *broken) {
		b.limitsAll = slices.Reverse[[]job.LimitUse]
	}},
	{name: "the limits of several keys are of several times", noticed: []string{"limits are returned of several keys at once, in their order"}, apply: func(b *broken) {
		b.limitsAll = func(uses []job.LimitUse) {
			for i := range uses {
				uses[i].Now = uses[i].Now.Add(time.Duration(i) * time.Microsecond)
			}
		}
	}},
	{name: "all limits are taken", noticed: []string{"limits out of their range are refused"}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			if job.CheckLimits(queue, l) != nil {
				return nil
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
	{name: "wait is deaf where there are limits", noticed: []string{"wait returns when limits allow more"}, apply: func(b *broken) {
		b.setLimits = func(ctx context.Context, queue string, l job.Limits) error {
			b.wait = func(ctx context.Context, _ []string) ([]string, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return b.Store.SetLimits(ctx, queue, l)
		}
	}},
}

// leak makes a job that has stopped running count as running as long as it exists: it claims another one in its place.
func (b *broken) leak(ctx context.Context, j *job.Job) error {
	dummy, err := job.New("leak", []byte("1"), job.Queue(j.Queue), job.LimitKey(j.LimitKey), job.Priority(job.HighestPriority))
	if err != nil {
		return err
	}
	if _, err := b.Store.Insert(ctx, dummy); err != nil {
		return err
	}
	_, err = b.Store.Claim(ctx, job.Claim{Worker: "leak", Session: sessionOf("leak"), Queues: queues(1, j.Queue), Limit: 1, Lease: long, Kinds: []string{"leak"}})
	return err
}
