package job_test

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestFromContextIsACopy: a handler changes everything in the copy that it can reach. Neither the worker nor the next call notices.
func TestFromContextIsACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempt := 0
		r := newRig(t, job.Config{}, job.HandleRaw("note", func(ctx context.Context, live *job.Job) error {
			attempt++
			job.Progress(ctx, 1, 2)
			got, ok := job.FromContext(ctx)
			if !ok || got == live {
				t.Fatalf("FromContext returned %p, %t; want a copy of %p", got, ok, live)
			}
			want := *live
			want.Progress = &job.ProgressReport{Done: 1, Total: 2, Time: time.Now()}
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("got  %+v\nwant %+v", *got, want)
			}
			if len(got.Failures) != attempt-1 {
				t.Errorf("attempt %d has %d failures", attempt, len(got.Failures))
			}
			for i := range got.Args {
				got.Args[i] = 'x'
			}
			for i := range got.Failures {
				got.Failures[i].Error = "changed"
			}
			*got.Progress = job.ProgressReport{Done: 7}
			got.Meta["request"] = "changed"
			*got = job.Job{ID: got.ID, State: job.Canceled, MaxAttempts: 1, Attempt: 7, Uncounted: 7, Queue: "other", Kind: "other"}
			if again, _ := job.FromContext(ctx); !reflect.DeepEqual(*again, want) {
				t.Errorf("the next call returned %+v, want %+v", *again, want)
			}
			if attempt < 3 {
				return errFlaky
			}
			return nil
		}, job.Backoff(second)))
		id := r.enqueue(job.LimitKey("tenant-7"), job.Meta("request", "81"), job.Timeout(time.Minute))
		seconds(5)
		j := r.wantState(id, job.Completed)
		if j.Queue != job.DefaultQueue || j.Used() != 3 || string(j.Args) != `{"text":"hello"}` || len(j.Failures) != 2 || j.Failures[0].Error != "flaky" ||
			j.Progress == nil || j.Progress.Done != 1 {
			t.Errorf("stored job: %+v", j)
		}
	})
}

// TestFromContextAtAnyTime calls FromContext from tasks while the handler sets the result, and from a goroutine that outlives the handler, for the
// race detector.
func TestFromContextAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left sync.WaitGroup
		r := newRig(t, job.Config{Grace: -1}, job.HandleRaw("note", func(ctx context.Context, j *job.Job) error {
			check := func() {
				for range 100 {
					got, ok := job.FromContext(ctx)
					if !ok || got.ID != j.ID || got.Kind != "note" || string(got.Args) != `{"text":"hello"}` || got.Result != nil {
						t.Errorf("FromContext returned %+v, %t", got, ok)
					}
				}
			}
			meanwhile.Go(ctx, func(context.Context) error { check(); return nil })
			left.Go(func() {
				for range 50 {
					check()
					time.Sleep(time.Millisecond)
				}
			})
			time.Sleep(10 * time.Millisecond)
			j.Result = json.RawMessage(`1`)
			return errFlaky
		}))
		r.enqueue()
		seconds(0.4)
		left.Wait()
	})
}

func TestFromContextOfAnother(t *testing.T) {
	if j, ok := job.FromContext(t.Context()); j != nil || ok {
		t.Errorf("got %v, %t", j, ok)
	}
}
