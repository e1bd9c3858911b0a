package retry_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/retry"
)

// A mark does not change the text of the error or what it wraps, and is found through further wrapping.
func TestMarks(t *testing.T) {
	tests := map[string]struct {
		mark  func(error) error
		found func(error) bool
	}{
		"permanent": {retry.Permanent, func(err error) bool {
			var m interface{ Permanent() bool }
			return errors.As(err, &m) && m.Permanent()
		}},
		"after": {func(err error) error { return retry.After(err, time.Minute) }, func(err error) bool {
			var m interface{ RetryAfter() time.Duration }
			return errors.As(err, &m) && m.RetryAfter() == time.Minute
		}},
		"overloaded": {retry.Overloaded, func(err error) bool {
			var m interface{ Overloaded() bool }
			return errors.As(err, &m) && m.Overloaded()
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.mark(nil); err != nil {
				t.Errorf("of nil: %v", err)
			}
			err := test.mark(io.ErrUnexpectedEOF)
			if err.Error() != io.ErrUnexpectedEOF.Error() || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the error is now %v", err)
			}
			if test.found(io.ErrUnexpectedEOF) {
				t.Error("the mark is found in an unmarked error")
			}
			if !test.found(err) || !test.found(fmt.Errorf("call: %w", err)) {
				t.Error("the mark is not found")
			}
		})
	}
}
