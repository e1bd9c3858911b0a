package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Claim takes due jobs for a worker. When some were taken, an error of taking more is left out: the next call meets it
// again.
func (s *Store) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	var done job.Claimed
	if c.Limit <= 0 {
		return done, nil
	}
	err := s.call(ctx, "claim jobs", func(ctx context.Context) error {
		done = job.Claimed{}
		limits := newLimits(c)
		if c.Expired {
			if err := s.claimExpired(ctx, c, limits, &done); err != nil {
				return err
			}
		}
		if len(done.Jobs) >= c.Limit {
			return nil
		}
		err := s.claimDue(ctx, c, limits, &done)
		if len(done.Jobs) > 0 {
			err = nil
		}
		return err
	})
	return done, err
}

// limits are how many jobs may still be taken from each queue.
type limits struct {
	queues []string
	left   []int32
}

func newLimits(c job.Claim) *limits {
	l := &limits{queues: make([]string, len(c.Queues)), left: make([]int32, len(c.Queues))}
	for i, q := range c.Queues {
		l.queues[i], l.left[i] = q.Queue, int32(max(min(q.Limit, c.Limit), 0))
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

// sort puts jobs into the order of claims.
func (l *limits) sort(jobs []*job.Job) {
	slices.SortFunc(jobs, func(a, b *job.Job) int {
		if a.Queue != b.Queue {
			return cmp.Compare(slices.Index(l.queues, a.Queue), slices.Index(l.queues, b.Queue))
		}
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// claimExpired takes jobs whose leases have run out.
func (s *Store) claimExpired(ctx context.Context, c job.Claim, l *limits, done *job.Claimed) error {
	rows, err := s.run().query(ctx, s.sql("claim_expired"), l.queues, l.left, c.Limit, c.Worker, interval(c.Lease), c.Kinds)
	if err != nil {
		return err
	}
	defer rows.Close()
	var r row
	var holder string
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
		done.Jobs, done.Expired[j.ID] = append(done.Jobs, j), holder
		l.took(j.Queue)
	}
	l.sort(done.Jobs)
	return rows.Err()
}

// claimDue takes jobs that are due, and finds when the next one is.
func (s *Store) claimDue(ctx context.Context, c job.Claim, l *limits, done *job.Claimed) error {
	began := time.Now()
	look := s.cursors.look(l.queues, c.Kinds, began)
	limit := c.Limit - len(done.Jobs)
	rows, err := s.run().query(ctx, s.sql("claim"), l.queues, l.left, limit, c.Worker, interval(c.Lease), look.at, look.ids, c.Kinds)
	if err != nil {
		return err
	}
	next, taken, err := readClaimed(rows)
	if err != nil {
		return err
	}
	l.sort(taken)
	done.Jobs = append(done.Jobs, taken...)
	done.Next = next
	s.cursors.looked(look, taken, time.Since(began))
	if again := look.again(time.Now()); len(taken) < limit && again > 0 {
		s.waits.wakeIn(again)
	}
	return nil
}

func readClaimed(rows pgx.Rows) (next time.Duration, taken []*job.Job, err error) {
	defer rows.Close()
	var r row
	var until pgtype.Interval
	to := append(r.common(), &until)
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return 0, nil, err
		}
		if until.Valid {
			next = max(duration(until), time.Microsecond)
		}
		if !r.id.Valid {
			continue
		}
		j, err := r.running()
		if err != nil {
			return 0, nil, err
		}
		taken = append(taken, j)
	}
	return next, taken, rows.Err()
}

// running makes a claimed job of a row.
func (r *row) running() (*job.Job, error) {
	j, err := r.job()
	if err == nil {
		j.State = job.Running
	}
	return j, err
}
