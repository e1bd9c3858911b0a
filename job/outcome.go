package job

import (
	"errors"
	"time"
)

// Causes for which a worker cancels the context of a job, see context.Cause.
var (
	ErrLeaseLost = errors.New("the lease of the job was lost: another worker may be running it")
	ErrCanceled  = errors.New("the job was canceled")
	ErrStopping  = errors.New("the worker stops and the job had not ended within the grace: it is put back")
	ErrTimeout   = errors.New("the attempt took longer than its timeout")
)

type cancelError struct{ err error }

// Cancel is returned by a handler to stop the job for good: its state becomes Canceled, with err as the failure. A nil err
// is allowed. The mark holds through wrapping.
func Cancel(err error) error { return &cancelError{err} }

func (e *cancelError) Error() string {
	if e.err == nil {
		return "canceled by its handler"
	}
	return e.err.Error()
}

func (e *cancelError) Unwrap() error { return e.err }

type snoozeError struct{ delay time.Duration }

// Snooze is returned by a handler to have the job run again after d. It uses no attempt. A d of zero or less is at once.
func Snooze(d time.Duration) error { return &snoozeError{max(d, 0)} }

func (e *snoozeError) Error() string { return "again in " + e.delay.String() }
