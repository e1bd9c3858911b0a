package job

import (
	"errors"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// The causes with which a worker cancels the context of a job, see context.Cause.
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

// Cancel is returned by a handler to stop the job permanently: its state becomes Canceled, with err as the failure. A nil err is allowed. Cancel is
// recognized through wrapping. A panic with it, or with Snooze or Throttled, is a failure like any other.
func Cancel(err error) error { return &cancelError{err} }

func (e *cancelError) Error() string {
	if e.err == nil {
		return "canceled by its handler"
	}
	return e.err.Error()
}

func (e *cancelError) Unwrap() error { return e.err }

type snoozeError struct {
	delay     time.Duration
	throttled error // by Throttled; nil for Snooze
}

// Snooze is returned by a handler to run the job again after d. It uses no attempt. If d is zero or less, the job runs again immediately. A job of
// a kind that is [AtMostOnce] fails.
func Snooze(d time.Duration) error { return &snoozeError{delay: max(d, 0)} }

// errThrottled stands for an error that was not given to Throttled.
var errThrottled = errors.New("throttled")

// Throttled is returned by a handler when the upstream reports too many requests, as an API does with status 429: the job runs again after d,
// without using an attempt, and until then no other job of its queue with its limit key starts, see [LimitKey]; if it has no key, no other job of
// its queue at all. Running jobs continue. The throttle applies to every claim, of every worker, that starts after the outcome has been written, by
// the store's clock; the longest of several counts. [Store.Pause] with false ends it early. If d is zero or less, nothing is held back. A job of a
// kind that is [AtMostOnce] fails, and a job whose cancellation was requested is canceled; both hold back other jobs nevertheless. err is the error
// of the upstream, and may be nil. Throttled is recognized through wrapping.
func Throttled(err error, d time.Duration) error {
	return &snoozeError{delay: max(d, 0), throttled: either(err, errThrottled)}
}

func (e *snoozeError) Error() string {
	if e.throttled != nil {
		return fmt.Sprintf("throttled for %v: %v", e.delay, e.throttled)
	}
	return "again in " + e.delay.String()
}

func (e *snoozeError) Unwrap() error { return e.throttled }

// name returns the function that created the error.
func (e *snoozeError) name() string {
	if e.throttled != nil {
		return "Throttled"
	}
	return "Snooze"
}
