package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var errTooMany = errors.New("429 Too Many Requests")

// TestThrottledHoldsBackItsKey: all jobs of a customer whose API returns 429 wait, those of others continue, and no attempt is used.
func TestThrottledHoldsBackItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var mu sync.Mutex
		var starts []string
		refuse := true
		started := func() string {
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(starts)
			text := strings.Join(starts, ", ")
			starts = nil
			return text
		}
		r := newRig(t, job.Config{Queues: []job.QueueConfig{{Name: job.DefaultQueue, Concurrency: 1}}}, job.HandleRaw("note", func(_ context.Context, j *job.Job) error {
			mu.Lock()
			defer mu.Unlock()
			starts = append(starts, fmt.Sprintf("%v %s", time.Since(begun).Round(time.Second), j.Meta["name"]))
			if j.Meta["name"] == "a1" && refuse {
				refuse = false
				return fmt.Errorf("ask: %w", job.Throttled(errTooMany, 30*time.Second))
			}
			return nil
		}))
		throttled := r.enqueue(job.LimitKey("a"), job.Meta("name", "a1"))
		seconds(1)
		for _, name := range []string{"a2", "a3", "b1", "c1"} {
			r.enqueue(job.LimitKey(name[:1]), job.Meta("name", name), job.Priority(9))
		}
		seconds(20)
		if got := started(); got != "0s a1, 1s b1, 1s c1" {
			t.Errorf("started within 21s: %s", got)
		}
		j := r.wantState(throttled, job.Queued)
		if j.Used() != 0 || len(j.Failures) != 0 {
			t.Errorf("got %d attempts used and failures %v, want none", j.Used(), j.Failures)
		}
		seconds(12)
		if got := started(); got != "30s a1, 30s a2, 30s a3" {
			t.Errorf("started between 21s and 33s: %s", got)
		}
	})
}

// TestThrottledWhateverBecomesOfIt: other jobs are held back even if the job itself ends.
func TestThrottledWhateverBecomesOfIt(t *testing.T) {
	for name, test := range map[string]struct {
		opts  []job.DefineOption
		err   error
		drive func(r *rig, id job.ID)
		state job.State
	}{
		"at most once": {opts: []job.DefineOption{job.AtMostOnce()}, err: job.Throttled(errTooMany, time.Minute), state: job.Discarded},
		"canceled": {err: job.Throttled(errTooMany, time.Minute), drive: func(r *rig, id job.ID) {
			if _, err := job.Apply(r.ctx, r.store, job.Filter{IDs: []job.ID{id}}, job.ActionCancel); err != nil {
				r.Fatal(err)
			}
		}, state: job.Canceled},
		"without an error": {err: job.Throttled(nil, time.Minute), state: job.Queued},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kind := job.Define[note]("note", test.opts...)
				r := newRig(t, job.Config{}, kind.Handle(func(ctx context.Context, _ note) error {
					if test.drive != nil {
						<-ctx.Done()
					}
					return test.err
				}))
				id := r.enqueue()
				seconds(0.5)
				if test.drive != nil {
					test.drive(r, id)
					seconds(3)
				}
				r.wantState(id, test.state)
				next := r.enqueue()
				seconds(50)
				r.wantState(next, job.Queued)
			})
		})
	}
}
