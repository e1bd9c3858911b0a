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

// Settle writes the outcomes of jobs that the session holds, and the jobs that follow them, in one transaction.
func (s *Store) Settle(ctx context.Context, session job.Session, given ...job.Outcome) (lost []job.ID, err error) {
	if len(given) == 0 {
		return nil, nil
	}
	o, err := sortOutcomes(given)
	if err != nil {
		return nil, err
	}
	err = s.call(ctx, "settle jobs", func(ctx context.Context) error {
		if o.kinds() == 1 && !o.followed && len(o.laned) == 0 {
			if lost, err = settleJobs(ctx, s, s.run(), session, o, strictFor(o)); codeOf(err) == codeUnique {
				lost, err = settleJobs(ctx, s, s.run(), session, o, "settle_alike")
			}
			return err
		}
		return s.inTx(ctx, func(r pgxRunner) error {
			lost, err = settleAll(ctx, s, r, session, o, true)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	s.notify(append(o.dueQueues(), s.laned.freed(o)...))
	s.wrote(ctx, len(o.finished)+len(o.queued))
	return lost, nil
}

// strictFor returns the statement that settles equal outcomes of finished jobs, and fails if one of the jobs has finished
// already.
func strictFor(o outcomes) string {
	if slices.ContainsFunc(o.finished, func(j *job.Job) bool { return j.LimitKey != "" }) {
		return "settle_keyed"
	}
	return "settle_strict"
}

// outcomes are outcomes to settle, sorted by the new state, and then by ID, so that all transactions take locks in one order.
type outcomes struct {
	given                     []job.Outcome
	followed                  bool // some outcomes have follow-ups
	running, queued, finished []*job.Job
	laned                     []job.Outcome // those with a Throttle or Units
}

func sortOutcomes(given []job.Outcome) (outcomes, error) {
	o := outcomes{given: given}
	for i := range given {
		j := given[i].Job
		o.followed = o.followed || len(given[i].Then) > 0
		if given[i].Throttle > 0 || given[i].Units != 0 {
			o.laned = append(o.laned, given[i])
		}
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
		slices.SortFunc(part, compareIDs)
	}
	return o, nil
}

func (o outcomes) kinds() int {
	return min(len(o.running), 1) + min(len(o.queued), 1) + min(len(o.finished), 1)
}

// dueQueues returns the queues in which a job may be due right away.
func (o outcomes) dueQueues() []string {
	due := slices.DeleteFunc(slices.Clone(o.queued), func(j *job.Job) bool { return j.Delay > 0 && j.RunAt.IsZero() })
	if o.followed {
		for i := range o.given {
			due = append(due, o.given[i].Then...)
		}
	}
	return queuesOf(due)
}

// settleAll writes outcomes and their effects on lanes, and inserts the follow-ups of those that are not lost. It needs a transaction, the store's
// own or the user's.
func settleAll(ctx context.Context, s *Store, r runner, session job.Session, o outcomes, own bool) ([]job.ID, error) {
	if len(o.laned) > 0 {
		if err := settleLanes(ctx, s, r, session, o.laned); err != nil {
			return nil, err
		}
	}
	lost, err := settleJobs(ctx, s, r, session, o, "settle_alike") // the strict statement's error would abort the transaction
	if err != nil {
		return nil, err
	}
	then, err := job.FollowUps(o.given, lost)
	switch {
	case err != nil || len(then) == 0:
	case own:
		_, err = insertBriefly(ctx, s, r, then)
	default:
		_, err = insertJobs(ctx, s, r, then, false)
	}
	return lost, err
}

// settleJobs writes outcomes. alike is the statement for equal ones.
func settleJobs(ctx context.Context, s *Store, r runner, session job.Session, o outcomes, alike string) (lost []job.ID, err error) {
	if len(o.running) > 0 {
		ids, attempts, details := fences(o.running)
		if lost, err = r.ids(ctx, s.sql("settle_running"), int64(session), ids, attempts, details); err != nil {
			return nil, err
		}
	}
	if len(o.queued) > 0 {
		more, err := r.ids(ctx, s.sql("settle_queued"), requeueArgs(session, o.queued)...)
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
		more, err := r.ids(ctx, s.sql(alike), int64(session), ids, int32(first.Attempt), string(first.State))
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
		more, err := r.ids(ctx, s.sql("settle_finished"), int64(session), ids, attempts, details, states)
		if err != nil {
			return nil, err
		}
		lost = append(lost, more...)
	}
	return lost, nil
}

// sameEnd reports whether settle_alike.sql can write all of these finished jobs, since they differ in nothing that it would need as an argument.
// This is so for most jobs that complete at the first attempt.
func sameEnd(jobs []*job.Job) bool {
	return len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j *job.Job) bool {
		return isKeyed(j) || j.Attempt != jobs[0].Attempt || j.State != jobs[0].State || j.EncodeDetail() != nil
	})
}

// fences returns the columns that all statements of Settle have.
func fences(jobs []*job.Job) (ids [][16]byte, attempts []int32, details []*string) {
	ids, attempts, details = make([][16]byte, len(jobs)), make([]int32, len(jobs)), make([]*string, len(jobs))
	for i, j := range jobs {
		ids[i], attempts[i], details[i] = j.ID, int32(j.Attempt), detailText(j)
	}
	return ids, attempts, details
}

// detailText returns the detail as text that PostgreSQL accepts, or nil for an empty one.
func detailText(j *job.Job) *string {
	detail := j.EncodeDetail()
	if detail == nil {
		return nil
	}
	text := string(bytes.ToValidUTF8(detail, []byte("\uFFFD")))
	return &text
}

func requeueArgs(session job.Session, jobs []*job.Job) []any {
	ids, attempts, details := fences(jobs)
	n := len(jobs)
	uncounted, maxAttempts, priorities, queues := make([]int32, n), make([]int32, n), make([]int16, n), make([]string, n)
	runAt, delays := make([]*time.Time, n), make([]*pgtype.Interval, n)
	for i, j := range jobs {
		uncounted[i], maxAttempts[i], priorities[i] = int32(j.Uncounted), int32(j.MaxAttempts), int16(j.Priority)
		queues[i] = j.Queue
		runAt[i], delays[i] = due(j)
	}
	return []any{int64(session), ids, attempts, details, uncounted, maxAttempts, priorities, queues, runAt, delays}
}
