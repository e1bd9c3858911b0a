package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/retryafter"
	"github.com/meanwhile-go/meanwhile/retry"
)

// The failures of an attempt. Any other error is a network error, for which another attempt makes sense.
type (
	// A statusError is a response with a status that means failure.
	statusError struct {
		status int
		after  time.Duration // time after which another attempt makes sense; negative if unknown
	}
	// A timeoutError is the error of an attempt that took too long.
	timeoutError struct {
		phase phase
		after time.Duration
		bytes int64
	}
	tooLongError struct{ most int64 }
	// A connectionError is the error of a connection that broke, or could not be established.
	connectionError struct{ class, text string }
	// A finalError is an error that would occur again with each attempt.
	finalError struct {
		class string
		err   error
	}
)

// The classes of final errors.
const (
	classFile     = "file not written"
	classRedirect = "redirect not followed"
	classRequest  = "request not made"
	classStatus   = "invalid HTTP status"
)

func (e *statusError) Error() string {
	if text := http.StatusText(e.status); text != "" {
		return text
	}
	return "status " + strconv.Itoa(e.status)
}

func (e *timeoutError) Error() string {
	text := fmt.Sprintf("timed out after %s, %s", shortTime(e.after), e.phase)
	if e.phase == receiving {
		text += fmt.Sprintf(" (%s so far)", shortSize(e.bytes))
	}
	return text
}

func (e *tooLongError) Error() string { return "longer than " + shortSize(e.most) + " (--max-bytes)" }

func (e *connectionError) Error() string { return e.text }

func (e *finalError) Error() string { return e.err.Error() }

func (e *finalError) Unwrap() error { return e.err }

// errNotDone is the result of a transfer that was interrupted.
var errNotDone = errors.New("not done: interrupted")

func newStatusError(answer *http.Response) error {
	after, ok := retryafter.Parse(answer.Header.Get("Retry-After"), time.Now())
	if !ok {
		after = -1
	}
	return &statusError{answer.StatusCode, after}
}

// classify returns err as Retry and AdaptiveLimit need it to handle a failure.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if !worthwhile(err) {
		return retry.Permanent(err)
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		if status.after >= 0 {
			err = retry.After(err, status.after)
		}
		if status.status == http.StatusTooManyRequests || status.status == http.StatusServiceUnavailable {
			err = retry.Overloaded(err)
		}
	} else if _, ok := errors.AsType[*timeoutError](err); ok {
		err = retry.Overloaded(err)
	}
	return err
}

// worthwhile reports whether another attempt may have another result.
func worthwhile(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.status >= 500 || status.status == http.StatusTooManyRequests || status.status == http.StatusRequestTimeout
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return false
	}
	_, final := errors.AsType[*finalError](err)
	_, long := errors.AsType[*tooLongError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, invalid := errors.AsType[x509.HostnameError](err)
	return !final && !long && !certificate && !invalid
}

// explain describes an error of net/http in the user's terms.
func explain(ctx context.Context, err error, clock *clock, bytes int64) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &timeoutError{clock.phase(), time.Since(clock.begun), bytes}
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		if inner.Timeout() {
			return &timeoutError{clock.phase(), time.Since(clock.begun), bytes}
		}
		err = inner.Err // without the URL, which is in the line anyway
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &connectionError{"answer broken off", "the answer broke off after " + shortSize(bytes)}
	case errors.Is(err, io.EOF):
		return &connectionError{"closed without an answer", "the connection was closed without an answer"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &connectionError{"connection refused", "connection refused"}
	case errors.Is(err, syscall.ECONNRESET):
		return &connectionError{"connection reset", "the connection was reset after " + shortSize(bytes)}
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return &finalError{classFile, path}
	}
	return err
}
