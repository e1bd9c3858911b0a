package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// A claiming is a claim from a queue with limits or lanes, in a transaction that holds the lock of it. It implements job.Lanes.
type claiming struct {
	ctx    context.Context
	s      *Store
	b      *batches
	c      job.Claim
	queue  string
	at     time.Time
	lanes  job.LaneQueue
	keyed  bool // it has lanes of keys
	strict bool // a job that runs already is an error
	counts bool // running jobs of each key matter
	taken  []*job.Job
	after  []laneState // the lanes that jobs were taken of, right after that
}

// claimLanes takes up to n due jobs of a queue with limits or lanes, and returns when to claim again.
func (s *Store) claimLanes(ctx context.Context, c job.Claim, queue string, n int) (taken []*job.Job, next time.Duration, err error) {
	cl := &claiming{ctx: ctx, s: s, c: c, queue: queue, strict: true}
	if next, err = cl.claim(n); codeOf(err) == codeUnique {
		cl = &claiming{ctx: ctx, s: s, c: c, queue: queue}
		next, err = cl.claim(n)
	}
	return cl.taken, next, err
}

func (cl *claiming) claim(n int) (next time.Duration, err error) {
	var rest func() time.Duration
	err = cl.s.inBatches(cl.ctx, func(b *batches) error {
		cl.b = b
		may, err := cl.begin(n)
		if err != nil || !may {
			return err
		}
		if !cl.keyed && cl.strict && cl.lanes.Limits.Units.N == 0 {
			rest, err = cl.takeKeyless(n)
			return err
		}
		if err := cl.refresh(); err != nil {
			return err
		}
		if _, err := job.TakeTurns(cl, &cl.lanes, n, cl.at); err != nil {
			return err
		}
		rest = cl.end()
		return nil
	})
	if err == nil && rest != nil {
		next = rest()
	}
	return next, err
}

// begin begins the claim of the session, locks the queue and reads what is kept of it, and reports whether it may take jobs.
func (cl *claiming) begin(n int) (may bool, err error) {
	var paused bool
	var limits pgtype.Text
	var full, held, paid pgtype.Timestamptz
	q := &cl.lanes
	args := []any{int64(cl.c.Session), cl.c.Call, cl.c.Worker, interval(cl.c.Lease), cl.queue, n}
	to := []any{&paused, &limits, &q.Turn, &full, &held, &paid, &q.Overrides, &q.Running, &cl.at, &cl.keyed}
	err = cl.b.each(cl.ctx, cl.s.sql("lane_begin"), args, to, func() error {
		may = !paused
		return nil
	})
	if err != nil {
		return false, err
	}
	q.Full, q.Held, q.Paid = timeOf(full), timeOf(held), timeOf(paid)
	err = decodeLimits(cl.queue, limits, &q.Limits)
	cl.counts = q.Limits.EachKey.AtOnce() > 0 || q.Overrides > 0
	return may, err
}

// takeKeyless takes up to n due jobs of a queue without lanes of keys. It returns what says when to claim again, once the transaction is over.
func (cl *claiming) takeKeyless(n int) (next func() time.Duration, err error) {
	q := &cl.lanes
	if n = min(n, q.Left(cl.at)); n == 0 {
		return func() time.Duration { return cl.noteKeyless(0) }, nil
	}
	began := time.Now()
	start := cl.s.cursors.start([]string{cl.queue}, cl.c.Kinds, began)
	var r row
	var until pgtype.Interval
	args := []any{cl.queue, n, cl.c.Worker, int64(cl.c.Session), cl.c.Call, start.at, start.ids, cl.c.Kinds, cl.at, cl.most()}
	cl.b.later(cl.s.sql("claim_keyless"), args, append(r.common(), &until), func() error {
		if !r.id.Valid {
			return nil
		}
		j, err := r.running()
		cl.taken = append(cl.taken, j)
		return err
	})
	if q.Limits.Starts.N > 0 {
		if err := cl.b.send(cl.ctx); err != nil {
			return nil, err
		}
		q.Full = q.Limits.Starts.Take(q.Full, cl.at, len(cl.taken))
		cl.b.later(cl.s.sql("lane_starts"), []any{cl.queue, instant(q.Full)}, nil, nothing)
	}
	return func() time.Duration {
		q.Running += len(cl.taken)
		(&limits{queues: []string{cl.queue}}).sort(cl.taken)
		cl.s.cursors.note(start, cl.taken, time.Since(began))
		if again := start.again(time.Now()); len(cl.taken) < n && again > 0 {
			cl.s.waits.wakeIn(again)
		}
		if !until.Valid {
			return cl.noteKeyless(0)
		}
		return cl.noteKeyless(max(duration(until), time.Microsecond))
	}, nil
}

// noteKeyless notes whether the next claim from the queue is one of limits, and returns when it may take jobs; the next is due after that time, if it is
// not zero.
func (cl *claiming) noteKeyless(due time.Duration) time.Duration {
	limited := cl.limited()
	cl.s.laned.set(cl.queue, limited, limited)
	if cl.lanes.Left(cl.at) == 0 {
		return cl.lanes.Next(cl.at).Sub(cl.at)
	}
	return due
}

// most returns how many jobs of the queue run at most, or nil where nothing bounds that.
func (cl *claiming) most() *int {
	if cl.lanes.Limits.Running == 0 {
		return nil
	}
	return &cl.lanes.Running
}

func (cl *claiming) limited() bool {
	return cl.lanes.Limits != (job.Limits{}) || cl.lanes.Overrides > 0
}
