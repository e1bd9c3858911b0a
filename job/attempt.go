package job

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"
)

// prepareAttempt prepares a claimed job for an attempt. expired is the worker whose lease had run out, or empty; once says that its kind runs at
// most once, see AtMostOnce. If the job must not be run, prepareAttempt sets its final state and returns the event.
func (j *Job) prepareAttempt(expired string, once bool) *Event {
	j.Result, j.Progress = nil, nil
	if once {
		j.MaxAttempts = 1
	}
	if expired != "" {
		j.addFailure(Failure{
			Attempt: j.Attempt - 1,
			Time:    j.Started,
			Worker:  expired,
			Error:   "its worker was not heard of until the lease was over: the process died, or hung, or was cut off",
		})
	}
	switch {
	case j.CancelRequested: // requested while its process was dead, or before the process handled it
		return j.endUnbegun(Canceled, JobCanceled, ErrCanceled)
	case j.Used() > j.MaxAttempts:
		return j.endUnbegun(Discarded, JobDiscarded, j.outOfAttempts())
	}
	return nil
}

func (j *Job) endUnbegun(state State, kind EventKind, err error) *Event {
	j.addFailure(Failure{Attempt: j.Attempt, Started: j.Started, Time: j.Started, Worker: j.Worker, Error: err.Error()})
	j.State = state
	return &Event{Kind: kind, Err: err}
}

// outOfAttempts returns the error of a job whose last attempt ended with its process, or that was started before its kind became one that runs at
// most once.
func (j *Job) outOfAttempts() error {
	if j.Crashed > 0 {
		return fmt.Errorf("the process died %s while it ran the job, which is out of attempts (%d)", times(j.Crashed), j.MaxAttempts)
	}
	return fmt.Errorf("the job was begun before, and is out of attempts (%d)", j.MaxAttempts)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// dropLargeResult drops a result that is too large, and returns a record that reports it.
func (j *Job) dropLargeResult(now time.Time) (r Record, tooLarge bool) {
	n := len(j.Result)
	if n <= MaxResult {
		return Record{}, false
	}
	j.Result = nil
	return Record{
		Attempt: j.Attempt,
		Time:    now,
		Level:   slog.LevelWarn.String(),
		Message: fmt.Sprintf("the result of %d bytes is not kept: at most %d are", n, MaxResult),
	}, true
}

// checkResult returns an error for a result that is not JSON.
func (j *Job) checkResult() error {
	if len(j.Result) > 0 && !json.Valid(j.Result) {
		return fmt.Errorf("the handler set a result that is not JSON: %.60q", j.Result)
	}
	return nil
}
