package job_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestStatsTellHowLongQueuesAre: for each minute with jobs, a row of the queue has the maximum that was seen.
func TestStatsTellHowLongQueuesAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{Concurrency: 2}, noteKind.Handle(func(ctx context.Context, _ note) error {
			return meanwhile.Sleep(ctx, 3*time.Minute)
		}))
		for range 5 {
			r.enqueue()
		}
		if _, err := noteKind.Enqueue(r.ctx, r.store, note{}, job.Queue("of-nobody")); err != nil {
			t.Fatal(err)
		}
		begun := time.Now().Truncate(time.Minute)
		seconds(12 * 60)
		var queued, running []int64
		for _, s := range r.stats() {
			if s.Queued+s.Running == 0 {
				continue
			}
			if s.Kind != "" || s.Queue != job.DefaultQueue || s.Total() != 0 {
				t.Errorf("got a row of queue %q and kind %q, total %d", s.Queue, s.Kind, s.Total())
			}
			if at := begun.Add(time.Duration(len(queued)) * time.Minute); !s.Minute.Equal(at) {
				t.Errorf("got a row of %v, want %v", s.Minute, at)
			}
			queued, running = append(queued, s.Queued), append(running, s.Running)
		}
		// Two jobs run for three minutes, then two more, then the last one. In the minute of a change, the queue may be read before the change.
		if len(queued) < 9 || len(queued) > 10 || queued[0] != 3 || queued[4] != 1 || queued[7] != 0 {
			t.Errorf("queued by minute: %v", queued)
		}
		if running[0] != 2 || running[4] != 2 || running[7] != 1 {
			t.Errorf("running by minute: %v", running)
		}
	})
}
