package retry

import "time"

// Permanent marks an error as one that another attempt will not change: the function is not called again, and a job is
// discarded. It returns nil for nil. The mark is kept when the error is wrapped. An error of another package has the same
// effect when it has a method Permanent() bool that returns true.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

func (e *permanentError) Unwrap() error { return e.err }

func (*permanentError) Permanent() bool { return true }

// After adds to an error the delay after which another attempt makes sense, such as that of an HTTP Retry-After header: the
// next attempt then starts after d, up to the policy's MaxAfter, instead of after the policy's own wait. It returns nil for
// nil. An error of another package has the same effect when it has a method RetryAfter() time.Duration.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &delayedError{err, d}
}

type delayedError struct {
	err   error
	delay time.Duration
}

func (e *delayedError) Error() string { return e.err.Error() }

func (e *delayedError) Unwrap() error { return e.err }

func (e *delayedError) RetryAfter() time.Duration { return e.delay }

// Overloaded marks an error as the response of an overloaded server, such as HTTP 429 or 503, for meanwhile.AdaptiveLimit.
// It returns nil for nil. The mark is kept when the error is wrapped. An error of another package has the same effect when
// it has a method Overloaded() bool that returns true.
func Overloaded(err error) error {
	if err == nil {
		return nil
	}
	return &overloadedError{err}
}

type overloadedError struct{ err error }

func (e *overloadedError) Error() string { return e.err.Error() }

func (e *overloadedError) Unwrap() error { return e.err }

func (*overloadedError) Overloaded() bool { return true }
