package job

import (
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// Causes for which a worker cancels the context of a job, see context.Cause.
var (
	ErrLeaseLost = errors.New("the lease of the job was lost: another worker may be running it")
	ErrCanceled  = errors.New("the job was canceled")
	ErrStopping  = errors.New("the worker stops and the job has not ended within the grace")
	ErrTimeout   = errors.New("the attempt took longer than its timeout")
)

// errHandlerGoexit is the failure of an attempt whose handler ended its goroutine instead of returning.
var errHandlerGoexit error = handlerGoexit{}

type handlerGoexit struct{}

func (handlerGoexit) Error() string {
	return "the handler called runtime.Goexit, as testing's FailNow, Fatal and Skip do"
}

func (handlerGoexit) Unwrap() error { return meanwhile.ErrGoexit }

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

// Snooze is returned by a handler to have the job run again after d. It uses no attempt. A d of zero or less is at once. A
// job of a kind that is [AtMostOnce] fails by it.
func Snooze(d time.Duration) error { return &snoozeError{max(d, 0)} }

func (e *snoozeError) Error() string { return "again in " + e.delay.String() }
