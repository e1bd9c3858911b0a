package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxThen is how many jobs may follow one outcome.
const MaxThen = 1000

// An Outcome is the outcome of a running job, with its follow-ups: jobs that are inserted if, and only if, the outcome counts.
// Chains, batches and graphs of jobs are built with it, see [Then].
type Outcome struct {
	Job  *Job
	Then []*Job // valid ones, see New; at most MaxThen, the call of a [Webhook] among them
	// Throttle, if it is more than zero, is how long no job with its limit key, of the queue that it ran in, may start, or, if it has
	// no limit key, no job of that queue, see [Throttled].
	Throttle time.Duration
	// Units is how many more units it used than the Cost of its job, which was counted when it started, or, if negative, how many fewer, see
	// [Spend].
	Units int
}

// Outcomes returns the outcomes of jobs without follow-ups.
func Outcomes(jobs ...*Job) []Outcome {
	outcomes := make([]Outcome, len(jobs))
	for i, j := range jobs {
		outcomes[i].Job = j
	}
	return outcomes
}

// FollowUps returns, in order, the jobs that a store inserts with outcomes, without those of lost jobs; nil if there are none. It
// returns an error if an outcome has more than MaxThen; nothing may be written then.
func FollowUps(outcomes []Outcome, lost []ID) ([]*Job, error) {
	n := 0
	for i := range outcomes {
		if len(outcomes[i].Then) > MaxThen {
			return nil, fmt.Errorf("settle job %v: %w", outcomes[i].Job.ID, tooMany(len(outcomes[i].Then)))
		}
		n += len(outcomes[i].Then)
	}
	if n == 0 {
		return nil, nil
	}
	gone := make(map[ID]bool, len(lost))
	for _, id := range lost {
		gone[id] = true
	}
	jobs := make([]*Job, 0, n)
	for i := range outcomes {
		if !gone[outcomes[i].Job.ID] {
			jobs = append(jobs, outcomes[i].Then...)
		}
	}
	return jobs, nil
}

func tooMany(n int) error {
	return fmt.Errorf("%d jobs are to follow it, at most %d may: let one of them enqueue the others", n, MaxThen)
}

// checkThen returns an error when n jobs are too many to follow the job, with the call of its webhook.
func (j *Job) checkThen(n int) error {
	if j.Meta[MetaWebhook] != "" {
		n++
	}
	if n > MaxThen {
		return tooMany(n)
	}
	return nil
}

// Then enqueues jobs, made by [New] or [Kind.New], when the job of ctx completes, and only then: in the transaction that writes its completion, also
// with [Complete]. If the attempt ends in any other way, or its lease was lost, they are not enqueued, and the next attempt must call Then again.
// Options such as [In] count from the completion; a job whose unique key is held at that time is a duplicate, as with [Insert], and a job may take
// the key that the completed job gives up. Then may be called several times, by many goroutines, for MaxThen jobs in all, one less if the job has a
// [Webhook]. It returns an error for more, for a job that was given before, and if the attempt has ended or was completed already.
func Then(ctx context.Context, jobs ...*Job) error {
	e := executionOf(ctx)
	if e == nil {
		return errors.New("enqueue what follows a job: the context is not that of a handler")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.follow(jobs); err != nil {
		return fmt.Errorf("enqueue what follows job %v: %w", e.job.ID, err)
	}
	return nil
}

// follow notes what follows the attempt. e.mu is held.
func (e *execution) follow(jobs []*Job) error {
	switch {
	case e.lost:
		return ErrLeaseLost
	case e.ended || e.completed:
		return errors.New("it has ended, or job.Complete was called: say before what is to follow")
	}
	if err := e.job.checkThen(len(e.then) + len(jobs)); err != nil {
		return err
	}
	if err := checkMade(jobs...); err != nil {
		return err
	}
	for i, j := range jobs {
		same := func(other *Job) bool { return other.ID == j.ID }
		if slices.ContainsFunc(e.then, same) || slices.ContainsFunc(jobs[:i], same) {
			return fmt.Errorf("job %v is given twice", j.ID)
		}
	}
	e.then = append(e.then, jobs...)
	return nil
}
