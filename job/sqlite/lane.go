package sqlite

import (
	"time"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

// mostExpired bounds how many lanes without any state a claim deletes.
const mostExpired = 2000

// A claiming is a claim from a queue with lanes. It implements lanes.Rows.
type claiming struct {
	*txn
	c       job.Claim
	q       *claimQueue
	kept    bool     // some lanes of the queue have the state of rates or throttling
	drained []string // keys whose waiting jobs were all claimed
	taken   []stored
}

// claimLanes claims up to n due jobs of a queue with lanes, and returns when to claim again.
func (t *txn) claimLanes(c job.Claim, q *claimQueue, n int) ([]stored, time.Duration, error) {
	cl := &claiming{txn: t, c: c, q: q}
	if q.lanes.Limits.EachKey.InOrder {
		if _, err := t.exec(statement("lane_order")); err != nil {
			return nil, 0, err
		}
	}
	known, err := t.knownQueue(q.id)
	if err != nil {
		return nil, 0, err
	}
	if _, err := t.exec(statement("lane_expire"), q.id, t.now, int64(mostExpired)); err != nil {
		return nil, 0, err
	}
	kept, err := one(t, statement("lane_any"), q.id)
	if err != nil {
		return nil, 0, err
	}
	cl.kept = kept != nil
	full, paid, atCapacity := q.lanes.Full, q.lanes.Paid, known.AtCapacity
	claim := &lanes.Claim{Rows: cl, Queue: q.lanes, At: timeOf(t.now), Most: q.lanes.Running + n, Kept: cl.kept, Kinds: q.classes != nil}
	claim.Use(known)
	if err := claim.Run(n); err != nil {
		return nil, 0, err
	}
	if known.AtCapacity && !atCapacity {
		if _, err := t.exec(statement("lane_at_capacity"), q.id); err != nil {
			return nil, 0, err
		}
	}
	if q.lanes.Full != full || q.lanes.Paid != paid {
		if _, err := t.exec(statement("lane_queue"), q.id, micro(q.lanes.Full), micro(q.lanes.Paid)); err != nil {
			return nil, 0, err
		}
	}
	return cl.taken, claim.Next(), cl.end(claim)
}

// end writes the changes that the claim has kept in memory until now.
func (cl *claiming) end(claim *lanes.Claim) error {
	if err := cl.cleanAll(); err != nil {
		return err
	}
	if err := cl.keepRates(claim.Moved()); err != nil {
		return err
	}
	if err := cl.leaveTurns(cl.q.id, claim); err != nil {
		return err
	}
	return cl.pruneChanges()
}
