package postgres

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

// countedFrom is the lowest upper bound of running jobs per key from which on lanes_begin counts all running jobs of the queue from time to time,
// instead of those of each key.
const countedFrom = 10_000

// mostExpired bounds how many outdated lanes one claim deletes.
const mostExpired = 2000

// A claiming is a claim from a queue with limits or lanes, in a transaction that holds the lock of the queue. It implements lanes.Rows.
type claiming struct {
	ctx     context.Context
	s       *Store
	b       *batches
	c       job.Claim
	queue   string
	at      time.Time
	lanes   job.LaneQueue
	keyed   bool       // there are lanes of keys
	kept    bool       // lanes have state of rates or throttling
	plain   *lanes.Due // due jobs without a key; nil if they have yet to be read
	known   *knownQueue
	changes changes
	taken   []*job.Job
}

// claimLanes claims up to n due jobs from a queue with limits or lanes, and returns when to claim again.
func (s *Store) claimLanes(ctx context.Context, c job.Claim, queue string, n int) (taken []*job.Job, next time.Duration, err error) {
	known, dropped := s.known.find(queue), false
	for {
		cl := &claiming{ctx: ctx, s: s, c: c, queue: queue, known: known, changes: newChanges()}
		next, err = cl.claim(n)
		switch {
		case errors.Is(err, errLaned):
			known = s.known.add(queue)
		case !dropped && codeOf(err) == codeUnique:
			if err := s.dropStored(ctx, []string{queue}); err != nil {
				return nil, 0, err
			}
			dropped = true
		default:
			return cl.taken, next, err
		}
	}
}

func (cl *claiming) claim(n int) (next time.Duration, err error) {
	if cl.known != nil {
		if err := cl.known.use(cl.ctx); err != nil {
			return 0, err
		}
		defer cl.known.free()
	}
	var rest func() time.Duration
	err = cl.s.inBatches(cl.ctx, func(b *batches) error {
		cl.b = b
		may, err := cl.startClaim(n)
		switch {
		case err != nil || !may:
			return err
		case !cl.keyed && cl.lanes.Limits.Units.N == 0:
			rest, err = cl.takeKeyless(n)
		case cl.known == nil:
			err = errLaned
		default:
			rest, err = cl.takeByLanes(n)
		}
		return err
	})
	if err != nil {
		if cl.known != nil {
			cl.known.forget()
		}
		return 0, err
	}
	if rest != nil {
		next = rest()
	}
	return next, nil
}

// startClaim starts a claim of the session, locks the queue and reads its state. It reports whether the claim may take jobs.
func (cl *claiming) startClaim(n int) (may bool, err error) {
	var paused bool
	var limits pgtype.Text
	var full, held, paid pgtype.Timestamptz
	var r changeRow
	var plain plainRow
	q := &cl.lanes
	args := append([]any{int64(cl.c.Session), cl.c.Call, cl.c.Worker, interval(cl.c.Lease), cl.queue, n}, cl.changes.ask(cl.known)...)
	to := append([]any{&paused, &limits, &full, &held, &paid, &q.Overrides, &q.Running, &cl.at, &cl.keyed, &cl.kept}, append(plain.columns(), r.columns()...)...)
	err = cl.b.each(cl.ctx, cl.s.sql("lane_begin"), args, to, func() error {
		if may = !paused; cl.keyed {
			cl.plain = plain.due()
		}
		cl.changes.add(&r)
		return nil
	})
	if err != nil {
		return false, err
	}
	q.Full, q.Held, q.Paid = timeOf(full), timeOf(held), timeOf(paid)
	return may, decodeLimits(cl.queue, limits, &q.Limits)
}

// takeByLanes claims up to n due jobs by this process's cache of the lanes. It returns a function that returns when to claim again, to be called
// after the commit.
func (cl *claiming) takeByLanes(n int) (next func() time.Duration, err error) {
	cl.changes.apply(cl.known)
	if cl.kept {
		cl.b.later(cl.s.sql("lane_expire"), []any{cl.queue, cl.at, mostExpired}, nil, nothing)
	}
	q := &cl.lanes
	full, paid := q.Full, q.Paid
	claim := &lanes.Claim{Rows: cl, Queue: q, At: cl.at, Most: math.MaxInt, Kept: cl.kept, Kinds: cl.c.Kinds != nil}
	if cl.most() != nil {
		claim.Most = q.Running + n
	}
	claim.Use(cl.known.lanes)
	if err := claim.Run(n); err != nil {
		return nil, err
	}
	cl.keepRates(claim.Moved())
	if len(cl.taken) > 0 || cl.most() != nil || q.Full != full || q.Paid != paid {
		cl.b.later(cl.s.sql("lane_queue"), []any{cl.queue, instant(q.Full), instant(q.Paid), cl.most()}, nil, nothing)
	}
	left := int64(0)
	if cl.keyed {
		if left, err = cl.leave(claim); err != nil {
			return nil, err
		}
	}
	return func() time.Duration {
		cl.changes.committed(cl.known, left)
		limited := cl.limited()
		cl.s.laned.set(cl.queue, limited || cl.keyed, limited)
		if cl.changes.more {
			return time.Microsecond
		}
		return claim.Next()
	}, nil
}

// leave writes the turns that the claim changed, for other processes. If the claim changed the cache of this process, leave writes at least one
// change, by which the process can later tell that its cache is of this server. It returns how many changes it wrote.
func (cl *claiming) leave(claim *lanes.Claim) (n int64, err error) {
	leave := func(keys []string, mark *int16) {
		n++
		cl.b.later(cl.s.sql("lane_mark"), []any{cl.queue, cl.changes.last + n, cl.changes.tag, keys, mark}, nil, nothing)
	}
	err = claim.Turns(func(keys []string, mark int) error {
		m := int16(mark) // at most job.MaxWeight below zero
		leave(keys, &m)
		return nil
	})
	if n == 0 && claim.Changed() && !cl.changes.moved {
		leave([]string{}, nil)
	}
	return n, err
}

// keepRates writes the state of the rates of lanes.
func (cl *claiming) keepRates(moved map[string]job.Lane) {
	if len(moved) == 0 {
		return
	}
	keys := slices.Sorted(maps.Keys(moved))
	full, paid, idle := make([]*time.Time, len(keys)), make([]*time.Time, len(keys)), make([]time.Time, len(keys))
	for i, key := range keys {
		l := moved[key]
		full[i], paid[i], idle[i] = instant(l.Full), instant(l.Paid), l.Idle()
	}
	cl.b.later(cl.s.sql("lane_put"), []any{cl.queue, keys, full, paid, idle}, nil, nothing)
}

// takeKeyless claims up to n due jobs from a queue without lanes of keys. It returns a function that returns when to claim again, to be called
// after the commit.
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

// noteKeyless records whether the queue has limits, for the next claim, and returns when that claim may get jobs. due is the time until the
// next job is due, or zero.
func (cl *claiming) noteKeyless(due time.Duration) time.Duration {
	limited := cl.limited()
	cl.s.laned.set(cl.queue, limited, limited)
	cl.s.known.drop(cl.queue)
	if cl.lanes.Left(cl.at) == 0 {
		return cl.lanes.Next(cl.at).Sub(cl.at)
	}
	return due
}

// most returns an upper bound of how many jobs of the queue are running, or nil if none is known.
func (cl *claiming) most() *int {
	if l := cl.lanes.Limits; l.Running == 0 && (!cl.keyed || l.EachKey.Running < countedFrom) {
		return nil
	}
	return &cl.lanes.Running
}

func (cl *claiming) limited() bool {
	return cl.lanes.Limits != (job.Limits{}) || cl.lanes.Overrides > 0
}
