package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile"
)

// An unsettledError is the error of a Settle that wrote a part of the outcomes. All outcomes but ids were written, or are lost.
type unsettledError struct {
	ids map[ID]bool
	err error
}

func (e *unsettledError) Error() string { return e.err.Error() }
func (e *unsettledError) Unwrap() error { return e.err }

// A settling is the outcomes for one store, and its answer.
type settling struct {
	part     *part
	outcomes []Outcome
	answer   answer[[]ID]
}

// Settle writes each outcome, with the jobs that follow it, at the store of its job, in one transaction per store.
func (j *Joined) Settle(ctx context.Context, session Session, outcomes ...Outcome) ([]ID, error) {
	if err := j.enter(ctx, "settle jobs"); err != nil {
		return nil, err
	}
	if _, err := FollowUps(outcomes, nil); err != nil {
		return nil, err
	}
	var of []*settling
	var unknown []Outcome
	for _, o := range outcomes {
		p := j.located.find(o.Job.ID)
		if p == nil {
			unknown = append(unknown, o)
			continue
		}
		var s *settling
		for _, other := range of {
			if other.part == p {
				s = other
			}
		}
		if s == nil {
			s = &settling{part: p}
			of = append(of, s)
		}
		s.outcomes = append(s.outcomes, o)
	}
	_ = meanwhile.Run(ctx, func(ctx context.Context) error { // errors are in the answers
		for _, s := range of {
			s.answer.err = context.Canceled // if its task does not start
			meanwhile.Go(ctx, func(ctx context.Context) error {
				s.answer = j.settleAt(ctx, s.part, session, s.outcomes)
				return nil
			})
		}
		return nil
	}, meanwhile.Name("joined stores"))
	var lost []ID
	var failed []error
	unsettled := map[ID]bool{}
	for _, s := range of {
		if s.answer.err != nil {
			failed = append(failed, s.answer.err)
			for _, o := range s.outcomes {
				unsettled[o.Job.ID] = true
			}
			continue
		}
		lost = append(lost, s.answer.got...)
		j.located.forget(s.outcomes)
	}
	gone, err := j.settleUnknown(ctx, session, unknown)
	if err != nil {
		failed = append(failed, err)
		for _, id := range gone {
			unsettled[id] = true
		}
	} else {
		lost = append(lost, gone...)
	}
	if len(failed) > 0 {
		return lost, &unsettledError{ids: unsettled, err: fmt.Errorf("settle jobs: %w", errors.Join(failed...))}
	}
	return lost, nil
}

func (j *Joined) settleAt(ctx context.Context, p *part, session Session, outcomes []Outcome) answer[[]ID] {
	return ask(ctx, j, p, 2*partCall, func(ctx context.Context, p *part) ([]ID, error) { return p.Settle(ctx, session, outcomes...) })
}

// settleUnknown writes outcomes of jobs whose store is not known. It asks one store after the other; outcomes that are lost at one go to the next. It
// returns the jobs that are lost at all, and an error if a store that may have them did not answer.
func (j *Joined) settleUnknown(ctx context.Context, session Session, outcomes []Outcome) ([]ID, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	var failed []error
	left := outcomes
	for _, p := range j.parts {
		if len(left) == 0 {
			break
		}
		a := j.settleAt(ctx, p, session, left)
		if a.err != nil {
			failed = append(failed, a.err)
			continue
		}
		gone := make(map[ID]bool, len(a.got))
		for _, id := range a.got {
			gone[id] = true
		}
		var rest []Outcome
		for _, o := range left {
			if gone[o.Job.ID] {
				rest = append(rest, o)
			}
		}
		left = rest
	}
	ids := make([]ID, len(left))
	for i, o := range left {
		ids[i] = o.Job.ID
	}
	if len(left) == 0 {
		return nil, nil
	}
	return ids, errors.Join(failed...)
}
