package postgres

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Claim claims due jobs for a worker. If it has claimed some before an error, it returns these and drops the error, since the next call will
// get it again. It returns the error if it is uncertain whether more were claimed, since the worker must then ask for them again.
func (s *Store) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	var done job.Claimed
	if c.Limit <= 0 {
		return done, nil
	}
	c.Limit = min(c.Limit, math.MaxInt32) // the server's type is integer
	err := s.call(ctx, "claim jobs", func(ctx context.Context) error {
		done = job.Claimed{}
		limits := newLimits(c)
		if c.Since > 0 {
			if err := s.claimAgain(ctx, c, limits, &done); err != nil {
				return err
			}
		}
		if c.Expired && len(done.Jobs) < c.Limit {
			if err := s.claimExpired(ctx, c, limits, &done); err != nil {
				return err
			}
		}
		if len(done.Jobs) >= c.Limit {
			return nil
		}
		err := s.claimDue(ctx, c, limits, &done)
		switch {
		case len(done.Jobs) == 0:
			return err
		case uncertain(err):
			return &openError{err} // call never retries after such an error: a retry would forget the jobs
		}
		return nil
	})
	return done, err
}

// limits is how many jobs may still be claimed from each queue.
type limits struct {
	queues []string
	left   []int32
}

func newLimits(c job.Claim) *limits {
	l := &limits{queues: make([]string, len(c.Queues)), left: make([]int32, len(c.Queues))}
	counted := make(map[string]bool, len(c.Queues))
	for i, q := range c.Queues {
		l.queues[i] = q.Queue
		if q.Limit > 0 && !counted[q.Queue] {
			l.left[i], counted[q.Queue] = int32(min(q.Limit, c.Limit)), true
		}
	}
	return l
}

func (l *limits) took(queue string) {
	for i, q := range l.queues {
		if q == queue && l.left[i] > 0 {
			l.left[i]--
			return
		}
	}
}

// sort sorts jobs in the order of claims.
func (l *limits) sort(jobs []*job.Job) {
	slices.SortFunc(jobs, func(a, b *job.Job) int {
		if a.Queue != b.Queue {
			return cmp.Compare(slices.Index(l.queues, a.Queue), slices.Index(l.queues, b.Queue))
		}
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// claimExpired claims jobs whose lease has expired.
func (s *Store) claimExpired(ctx context.Context, c job.Claim, l *limits, done *job.Claimed) error {
	rows, err := s.run().query(ctx, s.sql("claim_expired"), l.queues, l.left, c.Limit-len(done.Jobs), c.Worker, interval(c.Lease), c.Kinds,
		int64(c.Session), c.Call)
	if err != nil {
		return err
	}
	defer rows.Close()
	var r row
	var holder string
	var taken []*job.Job
	to := append(r.common(), &holder, &r.cancelRequested)
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		j, err := r.running()
		if err != nil {
			return err
		}
		if done.Expired == nil {
			done.Expired = map[job.ID]string{}
		}
		taken, done.Expired[j.ID] = append(taken, j), holder
		l.took(j.Queue)
	}
	l.sort(taken)
	done.Jobs = append(done.Jobs, taken...)
	return rows.Err()
}

// claimAgain returns the jobs of earlier claims of the session whose answers were lost.
func (s *Store) claimAgain(ctx context.Context, c job.Claim, l *limits, done *job.Claimed) error {
	rows, err := s.run().query(ctx, s.sql("claim_again"), int64(c.Session), c.Call, c.Since, c.Worker, interval(c.Lease))
	if err != nil {
		return err
	}
	var r row
	to := append(r.common(), &r.cancelRequested)
	_, err = pgx.ForEachRow(rows, to, func() error {
		j, err := r.running()
		done.Jobs = append(done.Jobs, j)
		return err
	})
	l.sort(done.Jobs)
	return err
}

// claimDue claims due jobs, and finds out when the next one is due. If one of the queues has lanes, it claims from one queue after the other.
func (s *Store) claimDue(ctx context.Context, c job.Claim, l *limits, done *job.Claimed) error {
	if !slices.ContainsFunc(l.queues, s.laned.has) {
		found, err := s.claimPlain(ctx, c, l, done)
		if err != nil || !found {
			return err
		}
	}
	for i, queue := range l.queues {
		one := &limits{queues: l.queues[i : i+1], left: l.left[i : i+1]}
		if one.left[0] <= 0 || len(done.Jobs) >= c.Limit {
			continue
		}
		if !s.laned.has(queue) {
			if found, err := s.claimPlain(ctx, c, one, done); err != nil {
				return err
			} else if !found {
				continue
			}
		}
		taken, next, err := s.claimLanes(ctx, c, queue, min(int(one.left[0]), c.Limit-len(done.Jobs)))
		if err != nil {
			return err
		}
		done.Jobs = append(done.Jobs, taken...)
		sooner(done, next)
	}
	if len(done.Jobs) >= c.Limit {
		done.Next = 0
	}
	return nil
}

// claimPlain claims due jobs from queues without lanes. If one of the queues has lanes, it claims nothing and returns true.
func (s *Store) claimPlain(ctx context.Context, c job.Claim, l *limits, done *job.Claimed) (laned bool, err error) {
	began := time.Now()
	start := s.cursors.start(l.queues, c.Kinds, began)
	limit := c.Limit - len(done.Jobs)
	args := []any{l.queues, l.left, limit, c.Worker, interval(c.Lease), start.at, start.ids, c.Kinds, int64(c.Session), c.Call}
	got, err := s.queryClaimed(ctx, args)
	if codeOf(err) == codeUnique {
		if err = s.dropStored(ctx, l.queues); err == nil {
			got, err = s.queryClaimed(ctx, args)
		}
	}
	if err != nil {
		return false, err
	}
	for _, queue := range got.laned {
		s.laned.set(queue, true, false)
	}
	if len(got.laned) > 0 {
		return true, nil
	}
	l.sort(got.taken)
	done.Jobs = append(done.Jobs, got.taken...)
	sooner(done, got.next)
	s.cursors.note(start, got.taken, time.Since(began))
	if again := start.again(time.Now()); len(got.taken) < limit && again > 0 {
		s.waits.wakeIn(again)
	}
	return false, nil
}

// sooner lowers the time until the next claim to next, unless that is zero.
func sooner(done *job.Claimed, next time.Duration) {
	if next > 0 && (done.Next == 0 || next < done.Next) {
		done.Next = next
	}
}

// A claimed is the result of a function that claims.
type claimed struct {
	taken []*job.Job
	next  time.Duration
	laned []string // queues with lanes; if there are any, nothing was claimed
}

// dropStored deletes the jobs that are queued in the queues although they are running, see claim_stored.sql.
func (s *Store) dropStored(ctx context.Context, queues []string) error {
	_, err := s.run().ids(ctx, s.sql("claim_stored"), queues)
	return err
}

// queryClaimed claims from queues without lanes.
func (s *Store) queryClaimed(ctx context.Context, args []any) (got claimed, err error) {
	rows, err := s.run().query(ctx, s.sql("claim_strict"), args...)
	if err != nil {
		return got, err
	}
	defer rows.Close()
	var r row
	var until pgtype.Interval
	to := append(r.common(), &until)
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return got, err
		}
		if until.Valid {
			got.next = max(duration(until), time.Microsecond)
		}
		if !r.id.Valid {
			if r.queue.Valid {
				got.laned = append(got.laned, r.queue.String)
			}
			continue
		}
		j, err := r.running()
		if err != nil {
			return got, err
		}
		got.taken = append(got.taken, j)
	}
	return got, rows.Err()
}

// running returns the claimed job of a row.
func (r *row) running() (*job.Job, error) {
	j, err := r.job()
	if err == nil {
		j.State = job.Running
	}
	return j, err
}
