package forward

import (
	"context"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile/logs"
)

// ErrRefused is returned by an [Output] for records that the other side will never accept.
var ErrRefused = errors.New("refused")

// An Output forwards records to a system that keeps or searches them. A [Forwarder] calls it.
type Output interface {
	// Send returns nil when the other side has acknowledged all records, which are of one service and in order. After an error all of
	// them are sent again, some time later; the other side may have got some of them, so that each is sent with an identity where the
	// protocol has one: its [logs.Record.Identity]. An error that wraps [ErrRefused] says that sending the same records again is useless;
	// a [*RefusedError] says that the other side has the rest. An error with a method RetryAfter() time.Duration says when to come back.
	//
	// It is called concurrently for different services, never for the same one. It returns soon after ctx is canceled.
	Send(ctx context.Context, records []logs.Record) error

	// Close ends connections. No call follows it.
	Close() error
}

// A RefusedError is returned by an [Output] if the other side has accepted all records except some that it will never accept.
type RefusedError struct {
	Count int    // how many it refused
	Why   string // what it said about the first of them, shortened
}

// Error says how many records were refused, and why.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d records were refused: %s", e.Count, e.Why)
}

// Unwrap returns [ErrRefused].
func (e *RefusedError) Unwrap() error { return ErrRefused }
