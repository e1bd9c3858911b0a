package job_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A broken error panics in its Error method, as a nil pointer in an error does.
type broken struct{ text string }

func (b *broken) Error() string { return b.text }

// TestWhatPanicsAfterTheHandler: code of the program that is called to decide the outcome panics. The job must be settled nevertheless, and the
// worker must stop.
func TestWhatPanicsAfterTheHandler(t *testing.T) {
	var none *broken
	tests := []struct {
		name    string
		backoff func(int, error) time.Duration
		fn      job.HandlerFunc
		error   string
	}{
		{
			name:    "the backoff",
			backoff: func(int, error) time.Duration { panic("oh") },
			fn:      func(context.Context, *job.Job) error { return errFlaky },
			error:   "oh",
		},
		{
			name:    "the text of the error",
			backoff: second,
			fn:      func(context.Context, *job.Job) error { return none },
			error:   "nil pointer",
		},
		{
			name:    "a delay of the error's own",
			backoff: second,
			fn:      func(context.Context, *job.Job) error { return overloaded{} },
			error:   "oh",
		},
		{
			name:    "a result that is not JSON",
			backoff: second,
			fn: func(_ context.Context, j *job.Job) error {
				j.Result = json.RawMessage("not JSON")
				return nil
			},
			error: "JSON",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, job.Config{}, job.HandleRaw("note", test.fn, job.Backoff(test.backoff)))
				id := r.enqueue()
				seconds(0.5)
				if j := r.wantState(id, job.Queued); !strings.Contains(j.LastError(), test.error) {
					t.Errorf("error %q, want one with %q in it", j.LastError(), test.error)
				}
			})
		})
	}
}

type overloaded struct{}

func (overloaded) Error() string             { return "overloaded" }
func (overloaded) RetryAfter() time.Duration { panic("oh") }
