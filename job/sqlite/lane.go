package sqlite

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostWoken bounds how many lanes a claim looks at again that have changed, and of those whose time has come, so that none takes long. The next
// one goes on.
const mostWoken = 2000

// leastNew is how many new lanes a claim looks at together at least.
const leastNew = 100

// A claiming is a claim from a queue with lanes. It implements job.Lanes.
type claiming struct {
	*txn
	c       job.Claim
	q       *claimQueue
	at      time.Time
	most    int                  // jobs of the queue that may run when the claim has ended; a bound that is higher bounds nothing
	touched map[string]*keptLane // what became of lanes, by their keys, until flush writes it
	waking  map[string]bool      // lanes that were read and are looked at again at some time
	rest    map[string]laneDue   // what is left of lanes that jobs were taken of, where it is known
	above   map[string]int       // lanes that were open by a higher priority than jobs were taken of, and that priority
	taken   []stored
}

func newClaiming(t *txn, c job.Claim, q *claimQueue) *claiming {
	return &claiming{txn: t, c: c, q: q, at: timeOf(t.now), touched: map[string]*keptLane{}, waking: map[string]bool{}, rest: map[string]laneDue{}}
}

// claimLanes takes up to n due jobs of a queue with lanes, and returns when to claim again.
func (t *txn) claimLanes(c job.Claim, q *claimQueue, n int) ([]stored, time.Duration, error) {
	cl := newClaiming(t, c, q)
	cl.most = q.lanes.Running + n
	if q.lanes.Limits.EachKey.InOrder {
		if _, err := t.exec(statement("lane_order")); err != nil {
			return nil, 0, err
		}
	}
	if err := cl.refresh(n); err != nil {
		return nil, 0, err
	}
	if _, err := job.TakeTurns(cl, q.lanes, n, cl.at); err != nil {
		return nil, 0, err
	}
	if err := cl.flush(); err != nil {
		return nil, 0, err
	}
	if _, err := t.exec(statement("lane_queue"), q.id, q.lanes.Turn, micro(q.lanes.Full), micro(q.lanes.Paid)); err != nil {
		return nil, 0, err
	}
	next, err := cl.next()
	return cl.taken, next, err
}

// refresh brings the lanes up to date that have changed, or whose time has come, and that of the jobs without a key. Of those that are new it looks
// at as many as it finds that may start so many jobs: the others go on waiting at the end of the line.
func (cl *claiming) refresh(n int) error {
	woken, err := cl.lanes("lane_wake", cl.q.id, cl.now, int64(mostWoken))
	if err != nil {
		return err
	}
	plain, err := cl.lanes("lane_find", cl.q.id, "")
	if err != nil {
		return err
	}
	if len(plain) == 0 {
		plain = []job.Lane{{}}
	}
	if err := cl.settleLanes(append(woken, plain...)); err != nil {
		return err
	}
	for looked := 0; n > 0 && looked < mostWoken; {
		fresh, err := cl.lanes("lane_wake_new", cl.q.id, int64(max(n, leastNew)))
		if err != nil || len(fresh) == 0 {
			return err
		}
		if err := cl.settleLanes(fresh); err != nil {
			return err
		}
		for _, l := range fresh {
			if cl.touched[l.Key].hint.Priority > 0 {
				n--
			}
		}
		if looked += len(fresh); n > 0 {
			if err := cl.flush(); err != nil { // or the next ones would be the same
				return err
			}
		}
	}
	return nil
}

// next returns when to claim again; zero for never.
func (cl *claiming) next() (time.Duration, error) {
	if cl.q.lanes.Left(cl.at) == 0 {
		return cl.q.lanes.Next(cl.at).Sub(cl.at), nil
	}
	row, err := one(cl, statement("lane_next"), cl.q.id)
	if err != nil || row == nil {
		return 0, err
	}
	return max(time.Duration(integer(row[0])-cl.now), 1) * time.Microsecond, nil
}
