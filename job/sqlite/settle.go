package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Settle writes the outcomes of jobs that the session holds.
func (s *Store) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	lost, err := s.settle(ctx, session, outcomes, s.holdings.find(outcomes))
	if errors.Is(err, errStale) {
		lost, err = s.settle(ctx, session, outcomes, nil)
	}
	if err != nil {
		return nil, err
	}
	s.holdings.drop(outcomes)
	return lost, nil
}

func (s *Store) settle(ctx context.Context, session job.Session, outcomes []job.Outcome, known []holding) ([]job.ID, error) {
	var lost []job.ID
	err := s.write(ctx, "settle jobs", func(t *txn) (err error) {
		lost, err = t.settle(session, outcomes, known)
		return err
	})
	return lost, err
}

// An ending has what finished jobs that are written together have in common.
type ending struct{ state, attempt int64 }

// settle writes outcomes, and inserts the jobs that follow those that are not lost.
func (t *txn) settle(session job.Session, outcomes []job.Outcome, known []holding) ([]job.ID, error) {
	for _, o := range outcomes {
		if o.Throttle > 0 {
			if err := t.throttle(session, o); err != nil {
				return nil, err
			}
		}
		if o.Units != 0 {
			if err := t.book(session, o); err != nil {
				return nil, err
			}
		}
	}
	lost, err := t.settleJobs(session, outcomes, known)
	if err != nil {
		return nil, err
	}
	then, err := job.FollowUps(outcomes, lost)
	if err == nil && len(then) > 0 {
		_, err = t.insert(then)
	}
	return lost, err
}

// throttle throttles the lane of a running job, or its queue if the job has no key, unless Settle leaves the job alone.
func (t *txn) throttle(session job.Session, o job.Outcome) error {
	row, err := one(t, statement("lane_of"), o.Job.ID[:], int64(o.Job.Attempt), int64(session), o.Job.State == job.Queued)
	if err != nil || row == nil {
		return err
	}
	queue, until := integer(row[2]), t.now+o.Throttle.Microseconds()
	if row[1] == nil {
		_, err = t.exec(statement("throttle_queue"), queue, until)
		return err
	}
	if _, err = t.exec(statement("throttle_lane"), queue, text(row[1]), until); err != nil {
		return err
	}
	return t.mark(queue, row[1])
}

// book charges units of a running job, unless Settle leaves the job alone.
func (t *txn) book(session job.Session, o job.Outcome) error {
	row, err := one(t, statement("lane_of"), o.Job.ID[:], int64(o.Job.Attempt), int64(session), o.Job.State == job.Queued)
	if err != nil || row == nil {
		return err
	}
	id, q, err := t.limits(text(row[0]))
	if err != nil {
		return err
	}
	l, err := t.lane(id, q, text(row[1]))
	if err != nil {
		return err
	}
	q.Book(&l, o.Units, timeOf(t.now))
	if q.Limits.Units.N > 0 {
		if _, err := t.exec(statement("lane_book_queue"), id, micro(q.Paid)); err != nil {
			return err
		}
	}
	if l.Key != "" && q.Limits.OfKey(l.Own).Units.N > 0 {
		if _, err := t.exec(statement("lane_book"), id, l.Key, micro(l.Paid), micro(l.Idle())); err != nil {
			return err
		}
		return t.mark(id, l.Key)
	}
	return nil
}

// settleJobs writes jobs. Those with a holding in known, if it is not nil, are taken to be held; errStale is returned if one is
// not.
func (t *txn) settleJobs(session job.Session, outcomes []job.Outcome, known []holding) ([]job.ID, error) {
	plain, plainHeld := map[ending][]*job.Job{}, map[ending][]holding{} // those without a detail
	held := map[job.ID]bool{}                                           // except those in plainHeld
	var asked, lost []job.ID                                            // asked are all others
	for i, o := range outcomes {
		j := o.Job
		state, err := stateNumber(j.State)
		if err != nil {
			return nil, fmt.Errorf("job %v: %w", j.ID, err)
		}
		switch detail := detailOf(j); {
		case state == running:
			changed, err := t.exec(statement("settle_running"), j.ID[:], int64(j.Attempt), int64(session), detail)
			if err != nil {
				return nil, err
			}
			held[j.ID] = changed > 0
		case state == queued:
			if err := t.requeue(session, j, detail, held); err != nil {
				return nil, err
			}
		case detail == nil && known != nil && known[i].seq != 0 && (state != discarded || known[i].limitKey == ""):
			e := ending{state, int64(j.Attempt)}
			plainHeld[e] = append(plainHeld[e], known[i])
			continue
		case detail == nil:
			e := ending{state, int64(j.Attempt)}
			plain[e] = append(plain[e], j)
		default:
			e := ending{state, int64(j.Attempt)}
			if err := t.finish(e, held, statement("settle_finish_detail"), e.state, t.now, e.attempt, int64(session), j.ID[:], detail); err != nil {
				return nil, err
			}
		}
		asked = append(asked, j.ID)
	}
	for e, alike := range plain {
		if err := t.finishPlain(session, e, alike, held); err != nil {
			return nil, err
		}
	}
	for e, alike := range plainHeld {
		if err := t.finishHeld(session, e, alike); err != nil {
			return nil, err
		}
	}
	for _, id := range asked {
		if !held[id] {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

var (
	settleFinish     = repeated("settle_finish")
	settleFinishHeld = repeated("settle_finish_held")
)

// finishHeld finishes jobs with known holdings, or returns errStale if one of them is not held.
func (t *txn) finishHeld(session job.Session, e ending, jobs []holding) error {
	seqs := make([]int64, len(jobs))
	keys := map[int64][]string{} // limit keys of the jobs, by class
	var alike int64              // in a row with the same class
	for i, h := range jobs {
		seqs[i] = h.seq
		if alike > 0 && h.class != jobs[i-1].class {
			t.countFinished(jobs[i-1].class, e.state, alike)
			alike = 0
		}
		alike++
		if h.limitKey != "" {
			keys[h.class] = append(keys[h.class], h.limitKey)
		}
		if h.key != "" {
			if err := t.letGoKey(h.key, h.id, h.until); err != nil {
				return err
			}
		}
	}
	t.countFinished(jobs[len(jobs)-1].class, e.state, alike)
	err := ranges(seqs, func(from, to int64) error {
		changed, err := t.exec(statement("settle_finish_range"), e.state, t.now, e.attempt, int64(session), from, to)
		if err == nil && changed != to-from+1 {
			err = errStale
		}
		return err
	}, func(seqs []int64) error { return t.finishEach(session, e, seqs) })
	if err != nil {
		return err
	}
	for class, keys := range keys {
		if err := t.wake(class, keys); err != nil {
			return err
		}
	}
	return nil
}

// finishEach is finishHeld for rows that are not in a range.
func (t *txn) finishEach(session job.Session, e ending, seqs []int64) error {
	args := make([]any, 0, 4+chunkSizes[0])
	return settleFinishHeld.chunks(len(seqs), func(sql string, from, size int) error {
		args = append(args[:0], e.state, t.now, e.attempt, int64(session))
		for _, seq := range seqs[from : from+size] {
			args = append(args, seq)
		}
		changed, err := t.exec(sql, args...)
		if err == nil && changed != int64(size) {
			err = errStale
		}
		return err
	})
}

// countFinished counts n running jobs of a class that have finished.
func (t *txn) countFinished(class, state, n int64) {
	t.count(class, running, -n)
	t.count(class, state, n)
}

// wake makes the next claims read the lanes of jobs of a class that have ended.
func (t *txn) wake(class int64, keys []string) error {
	name, err := t.className(class)
	if err != nil {
		return err
	}
	of, err := t.class(name.queue, name.kind)
	if err != nil {
		return err
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return t.markEnded(of.queue, keys)
}

func (t *txn) finishPlain(session job.Session, e ending, jobs []*job.Job, held map[job.ID]bool) error {
	args := make([]any, 0, 4+chunkSizes[0])
	return settleFinish.chunks(len(jobs), func(sql string, from, size int) error {
		args = append(args[:0], e.state, t.now, e.attempt, int64(session))
		for _, j := range jobs[from : from+size] {
			args = append(args, j.ID[:])
		}
		return t.finish(e, held, sql, args...)
	})
}

// finish runs a statement that finishes jobs, and records which ones it finished.
func (t *txn) finish(e ending, held map[job.ID]bool, sql string, args ...any) error {
	type keyed struct {
		id    job.ID
		key   string
		until int64
	}
	var free []keyed
	err := t.each(sql, args, func(v []driver.Value) error {
		id, class := idOf(v[0]), integer(v[1])
		held[id] = true
		t.count(class, running, -1)
		t.count(class, e.state, 1)
		if key := text(v[2]); key != "" {
			free = append(free, keyed{id, key, integer(v[4]) + integer(v[3])})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range free {
		if err := t.letGoKey(f.key, f.id, f.until); err != nil {
			return err
		}
	}
	return nil
}

// requeue queues a running job again, if the session holds it and its cancellation was not requested.
func (t *txn) requeue(session job.Session, j *job.Job, detail any, held map[job.ID]bool) error {
	row, err := one(t, statement("settle_class"), j.ID[:], int64(j.Attempt), int64(session))
	if err != nil || row == nil {
		return err
	}
	held[j.ID] = true
	from := integer(row[0])
	name, err := t.className(from)
	if err != nil {
		return err
	}
	to, err := t.class(j.Queue, name.kind)
	if err != nil {
		return err
	}
	t.count(from, running, -1)
	t.count(to.id, queued, 1)
	t.changed[j.Queue] = true
	_, err = t.exec(statement("settle_queue"), j.ID[:], to.id, to.queue, int64(j.Priority), t.due(j), int64(j.Uncounted), int64(j.MaxAttempts), detail)
	return err
}
