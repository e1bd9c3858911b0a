package job

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	mostClaimed    = 500 // jobs per claim
	leastUnsettled = 2000
)

// claimLoop claims as many jobs as there is capacity for and starts them, until ctx ends. If it finds fewer, it waits until more may be due.
func (r *run) claimLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var checked time.Time // when it last asked for expired leases
	failures := 0
	var calls calls
	for {
		claim, crowded, err := r.capacity(ctx)
		if err != nil {
			return err
		}
		calls.number(&claim, r.leased(claim.Session))
		begun := time.Now()
		if begun.Sub(checked) >= r.beat() {
			claim.Expired, checked = true, begun
		}
		got, err := r.callClaim(ctx, claim)
		calls.answered(claim, err)
		if err != nil {
			if fatal(err) || ctx.Err() != nil {
				return cmpCause(ctx, err)
			}
			failures++
			checked = time.Time{}
			r.storeFailed("claim jobs", failures, err)
			if err := meanwhile.Sleep(ctx, storeBackoff(failures)); err != nil {
				return err
			}
			continue
		}
		if failures > 0 {
			failures = r.storeRecovered()
		}
		r.health.claimed.Store(time.Now().UnixNano())
		for _, j := range got.Jobs {
			r.start(j, claim.Session, got.Expired[j.ID], begun)
		}
		if len(got.Jobs) >= claim.Limit {
			continue
		}
		wait := r.config.Poll
		if got.Next > 0 {
			wait = min(wait, got.Next)
		}
		timer.Reset(wait)
		var capacityFreed chan struct{}
		if crowded {
			capacityFreed = r.capacityFreed
		}
		select {
		case <-r.notice:
		case <-capacityFreed:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// calls numbers the claims of a session, and notes the first that was not answered.
type calls struct {
	session    Session
	last       int64
	unanswered int64
}

// number numbers a claim. If the lease of the session is not known to have started, a call without an answer may have started it long ago: then the
// claim renews the lease.
func (c *calls) number(claim *Claim, leased bool) {
	if c.session != claim.Session {
		*c = calls{session: claim.Session}
	}
	c.last++
	claim.Call, claim.Since = c.last, c.unanswered
	if !leased && claim.Since == 0 {
		claim.Since = claim.Call
	}
}

func (c *calls) answered(claim Claim, err error) {
	switch {
	case err == nil:
		c.unanswered = 0
	case c.unanswered == 0:
		c.unanswered = claim.Call
	}
}

// cmpCause returns the cause of ctx if it is canceled, and otherwise err.
func cmpCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// callClaim claims jobs. Stopping the worker does not interrupt it: the jobs that it has claimed are then known, and are released.
func (r *run) callClaim(ctx context.Context, c Claim) (Claimed, error) {
	call, cancel := context.WithTimeout(r.ctx, r.callTimeout())
	defer cancel()
	begun := time.Now()
	got, err := r.store.Claim(call, c)
	if err == nil && !r.began(c.Session, begun) {
		return Claimed{}, nil // the session was given up, and these jobs with it
	}
	if err == nil && ctx.Err() != nil {
		for _, j := range got.Jobs {
			r.releaseUnstarted(j, c.Session)
		}
		return Claimed{}, context.Cause(ctx)
	}
	return got, err
}

// capacity waits until a job could be started, and returns the claim to make. crowded reports whether it leaves out a queue, or bounds it, because
// of the running jobs of that queue.
func (r *run) capacity(ctx context.Context) (claim Claim, crowded bool, err error) {
	for {
		load := r.load.Load()
		r.mu.Lock()
		free := load.concurrency - r.running
		if len(r.finished)+r.settling >= max(leastUnsettled, 2*load.concurrency) {
			free = 0
		}
		if r.quiet.Load() {
			free = 0
		}
		claim = Claim{Worker: r.config.Name, Session: r.hold.session, Lease: r.config.Lease, Limit: min(free, mostClaimed), Kinds: r.kinds, Durable: r.durable}
		crowded = false
		for _, q := range load.queues {
			left := q.Concurrency - r.inQueue[q.Name]
			if left < claim.Limit {
				crowded = true
			}
			if left > 0 {
				claim.Queues = append(claim.Queues, QueueLimit{q.Name, min(left, claim.Limit)})
			}
		}
		full := free <= 0 || len(claim.Queues) == 0
		r.full, r.hasCapacity = full, full || crowded
		r.mu.Unlock()
		if !full {
			if load.weighted {
				load.shuffle(claim.Queues)
			}
			return claim, crowded, nil
		}
		select {
		case <-r.capacityFreed:
		case <-ctx.Done():
			return Claim{}, false, context.Cause(ctx)
		}
	}
}

// shuffle puts queues in random order by weight: each key is the logarithm of a random number over the weight, so that the
// first is drawn with probability weight ÷ sum (P. Efraimidis, P. Spirakis: "Weighted random sampling with a reservoir", 2006).
// Queues without a weight come last.
func (l *workload) shuffle(queues []QueueLimit) {
	keys := make(map[string]float64, len(queues))
	for _, q := range l.queues {
		keys[q.Name] = math.Inf(-1)
		if q.Weight > 0 {
			keys[q.Name] = math.Log(1-rand.Float64()) / float64(q.Weight)
		}
	}
	slices.SortStableFunc(queues, func(a, b QueueLimit) int {
		switch x, y := keys[a.Queue], keys[b.Queue]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
}

// waitLoop wakes the claim loop when the store reports that jobs may be due.
func (r *run) waitLoop(ctx context.Context) error {
	for {
		load := r.load.Load()
		replaced, err := load.whileLoaded(ctx, func(ctx context.Context) error { return r.waitFor(ctx, load.queues) })
		if !replaced {
			return err
		}
	}
}

// waitFor is waitLoop for one set of queues.
func (r *run) waitFor(ctx context.Context, of []QueueConfig) error {
	queues := make([]string, len(of))
	for i, q := range of {
		queues[i] = q.Name
	}
	failures := 0
	for {
		_, err := r.store.Wait(ctx, queues...)
		switch {
		case err == nil:
			failures = 0
			signal(r.notice)
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fatal(err):
			return err
		}
		failures++ // the claim loop polls, and reports the error
		if err := meanwhile.Sleep(ctx, storeBackoff(failures)); err != nil {
			return err
		}
	}
}
