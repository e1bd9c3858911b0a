package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Settle writes what became of jobs that worker holds, in one transaction.
func (s *Store) Settle(ctx context.Context, worker string, jobs ...*job.Job) (lost []job.ID, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	parts, err := sortOutcomes(jobs)
	if err != nil {
		return nil, err
	}
	err = s.call(ctx, "settle jobs", func(ctx context.Context) error {
		if parts.kinds() == 1 {
			lost, err = settleJobs(ctx, s, s.run(), worker, parts)
			return err
		}
		return s.inTx(ctx, func(r pgxRunner) error {
			lost, err = settleJobs(ctx, s, r, worker, parts)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.wrote(len(parts.finished) + len(parts.queued))
	s.notify(parts.dueQueues())
	return lost, nil
}

// outcomes are jobs to settle, by what becomes of them, and by ID, so that locks are taken in one order.
type outcomes struct{ running, queued, finished []*job.Job }

func sortOutcomes(jobs []*job.Job) (outcomes, error) {
	var o outcomes
	for _, j := range jobs {
		switch {
		case j.State == job.Running:
			o.running = append(o.running, j)
		case j.State == job.Queued:
			o.queued = append(o.queued, j)
		case j.State.Finished():
			o.finished = append(o.finished, j)
		default:
			return o, fmt.Errorf("settle job %v: a job cannot be stored in state %q", j.ID, j.State)
		}
	}
	for _, part := range [][]*job.Job{o.running, o.queued, o.finished} {
		slices.SortFunc(part, func(a, b *job.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	}
	return o, nil
}

func (o outcomes) kinds() int {
	return min(len(o.running), 1) + min(len(o.queued), 1) + min(len(o.finished), 1)
}

// dueQueues are those in which a job has become due at once.
func (o outcomes) dueQueues() []string {
	return queuesOf(slices.DeleteFunc(slices.Clone(o.queued), func(j *job.Job) bool { return j.Delay > 0 && j.RunAt.IsZero() }))
}

func settleJobs(ctx context.Context, s *Store, r runner, worker string, o outcomes) (lost []job.ID, err error) {
	if len(o.running) > 0 {
		ids, attempts, details := fences(o.running)
		if lost, err = r.ids(ctx, s.sql("settle_running"), worker, ids, attempts, details); err != nil {
			return nil, err
		}
	}
	if len(o.queued) > 0 {
		more, err := r.ids(ctx, s.sql("settle_queued"), requeueArgs(worker, o.queued)...)
		if err != nil {
			return nil, err
		}
		lost = append(lost, more...)
	}
	if sameEnd(o.finished) {
		first := o.finished[0]
		ids := make([][16]byte, len(o.finished))
		for i, j := range o.finished {
			ids[i] = j.ID
		}
		more, err := r.ids(ctx, s.sql("settle_alike"), worker, ids, int32(first.Attempt), string(first.State))
		if err != nil {
			return nil, err
		}
		lost = append(lost, more...)
	} else if len(o.finished) > 0 {
		ids, attempts, details := fences(o.finished)
		states := make([]string, len(ids))
		for i, j := range o.finished {
			states[i] = string(j.State)
		}
		more, err := r.ids(ctx, s.sql("settle_finished"), worker, ids, attempts, details, states)
		if err != nil {
			return nil, err
		}
		lost = append(lost, more...)
	}
	return lost, nil
}

// sameEnd reports whether finished jobs differ in nothing that settle_alike.sql would have to know, as most do that complete
// at the first attempt.
func sameEnd(jobs []*job.Job) bool {
	return len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j *job.Job) bool {
		return isKeyed(j) || j.Attempt != jobs[0].Attempt || j.State != jobs[0].State || j.EncodeDetail() != nil
	})
}

// fences are the columns that all statements which settle have.
func fences(jobs []*job.Job) (ids [][16]byte, attempts []int32, details []*string) {
	ids, attempts, details = make([][16]byte, len(jobs)), make([]int32, len(jobs)), make([]*string, len(jobs))
	for i, j := range jobs {
		ids[i], attempts[i], details[i] = j.ID, int32(j.Attempt), detailText(j)
	}
	return ids, attempts, details
}

// detailText returns the detail as text that PostgreSQL can hold, or nil for an empty one.
func detailText(j *job.Job) *string {
	detail := j.EncodeDetail()
	if detail == nil {
		return nil
	}
	text := string(bytes.ToValidUTF8(detail, []byte("\uFFFD")))
	return &text
}

func requeueArgs(worker string, jobs []*job.Job) []any {
	ids, attempts, details := fences(jobs)
	n := len(jobs)
	spared, maxAttempts, priorities, queues := make([]int32, n), make([]int32, n), make([]int16, n), make([]string, n)
	runAt, delays := make([]*time.Time, n), make([]*pgtype.Interval, n)
	for i, j := range jobs {
		spared[i], maxAttempts[i], priorities[i] = int32(j.Spared), int32(j.MaxAttempts), int16(j.Priority)
		queues[i] = j.Queue
		runAt[i], delays[i] = due(j)
	}
	return []any{worker, ids, attempts, details, spared, maxAttempts, priorities, queues, runAt, delays}
}
