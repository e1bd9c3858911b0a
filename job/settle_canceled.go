package job

import (
	"context"
	"errors"
	"slices"
	"time"
)

// settleOrCancel is Settle for outcomes that may queue jobs again. A store leaves such a job alone if its cancellation was requested, and returns it as
// lost. settleOrCancel then settles it as canceled, with the call of its webhook, and sets its State to that. If it cannot find out about such jobs, or
// cannot write them, the error is an unsettledError about them.
func settleOrCancel(ctx context.Context, s Store, session Session, outcomes []Outcome) (lost []ID, err error) {
	lost, err = s.Settle(ctx, session, outcomes...)
	part, inPart := errors.AsType[*unsettledError](err)
	if len(lost) == 0 || err != nil && !inPart {
		return lost, err
	}
	var refused []Outcome
	unsettled := map[ID]bool{}
	for _, o := range outcomes {
		if o.Job.State == Queued && slices.Contains(lost, o.Job.ID) {
			refused = append(refused, o)
			unsettled[o.Job.ID] = true
		}
	}
	if len(refused) == 0 {
		return lost, err
	}
	lost = slices.DeleteFunc(lost, func(id ID) bool { return unsettled[id] })
	more, failure := cancelRefused(ctx, s, session, refused)
	if failure == nil {
		return append(lost, more...), err
	}
	if inPart {
		for id := range part.ids {
			unsettled[id] = true
		}
	}
	return lost, &unsettledError{ids: unsettled, err: errors.Join(err, failure)}
}

// cancelRefused settles jobs as canceled if that was requested, and returns the others, which are lost.
func cancelRefused(ctx context.Context, s Store, session Session, refused []Outcome) (lost []ID, err error) {
	ids := make([]ID, len(refused))
	for i, o := range refused {
		ids[i] = o.Job.ID
	}
	running, err := listRunning(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	var canceled []Outcome
	for _, o := range refused {
		if j := running[o.Job.ID]; j == nil || j.Attempt != o.Job.Attempt || !j.CancelRequested {
			lost = append(lost, o.Job.ID)
			continue
		}
		o.Job.cancelInstead(time.Now())
		end := o.Job.outcome(nil)
		end.Throttle, end.Units = o.Throttle, o.Units
		canceled = append(canceled, end)
	}
	if len(canceled) == 0 {
		return lost, nil
	}
	more, err := s.Settle(ctx, session, canceled...)
	return append(lost, more...), err
}

// cancelInstead makes the outcome of an attempt Canceled that was to queue the job again.
func (j *Job) cancelInstead(now time.Time) {
	j.State, j.Delay = Canceled, 0
	if n := len(j.Failures); n == 0 || j.Failures[n-1].Attempt != j.Attempt {
		j.addFailure(Failure{Attempt: j.Attempt, Started: j.Started, Time: now, Worker: j.Worker, Error: ErrCanceled.Error()})
	}
}

// ofState returns the event of the outcome that was written: JobCanceled if cancelInstead has changed it.
func (e Event) ofState(s State) Event {
	if s != Canceled || e.Kind == JobCanceled {
		return e
	}
	return Event{Kind: JobCanceled, Err: either(e.Err, ErrCanceled), Elapsed: e.Elapsed, Throttle: e.Throttle}
}
