package dash_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A meeting store blocks the first reads of a page until the expected number of them are in progress.
type meeting struct {
	job.Store
	calls sync.WaitGroup
}

func (s *meeting) meet() {
	s.calls.Done()
	s.calls.Wait()
}

func (s *meeting) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	s.meet()
	return s.Store.Stats(ctx, f)
}

func (s *meeting) Counts(ctx context.Context) ([]job.Count, error) {
	s.meet()
	return s.Store.Counts(ctx)
}

func (s *meeting) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	s.meet()
	return s.Store.List(ctx, f)
}

// TestReadsAtTheSameTime: a page runs its slow reads concurrently; if they ran one after the other, this test would never end.
func TestReadsAtTheSameTime(t *testing.T) {
	for path, calls := range map[string]int{
		"/":                          2, // statistics, counts
		"/queues":                    2,
		"/failures":                  2, // statistics, list
		"/queue?name=mail":           3,
		"/queue?name=mail&range=24h": 4, // statistics of the hour and of the day, counts, list
		"/kind?name=mail.send":       2,
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &meeting{Store: memory.New()}
				s.calls.Add(calls)
				enqueue(t, s.Store, "mail.send", `{}`, 1, job.Queue("mail"))
				has(t, get(t, dash.New(dash.Config{Store: s}), path), http.StatusOK)
			})
		})
	}
}
