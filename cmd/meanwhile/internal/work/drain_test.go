package work

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// An aheadStore is a store whose clock is ahead of that of this process.
type aheadStore struct {
	job.Store
	by time.Duration
}

func (s *aheadStore) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	jobs, err := s.Store.List(ctx, f)
	for _, j := range jobs {
		j.Created, j.RunAt = j.Created.Add(s.by), j.RunAt.Add(s.by)
	}
	return jobs, err
}

// TestDrainedByTheClockOfTheStore: the queue is not drained while a job is due, even if the clock of the store is ahead. A job that is due
// later, or of another kind, does not count.
func TestDrainedByTheClockOfTheStore(t *testing.T) {
	for name, test := range map[string]struct {
		kind   string
		option []job.EnqueueOption
		want   bool
	}{
		"due":          {kind: httprequest.Kind.Name(), want: false},
		"later":        {kind: httprequest.Kind.Name(), option: []job.EnqueueOption{job.In(time.Hour)}, want: true},
		"another kind": {kind: "mail", want: true},
	} {
		for _, by := range []time.Duration{0, time.Minute} {
			s := &aheadStore{memory.New(), by}
			insert := func(kind string, options ...job.EnqueueOption) {
				t.Helper()
				j, err := job.New(kind, json.RawMessage("null"), options...)
				if err == nil {
					_, err = job.Insert(t.Context(), s.Store, j)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			insert(test.kind, test.option...)
			insert("other") // due, so that the queue has a due job in any case
			queues, err := s.Queues(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range queues {
				queues[i].Wait = time.Second // even if the clock has not moved since
			}
			c := &Command{Pool: Pool{Queue: []Queue{{Name: job.DefaultQueue}}}}
			if got := c.drained(t.Context(), s, queues); got != test.want {
				t.Errorf("%s, the clock is %v ahead: drained is %v, want %v", name, by, got, test.want)
			}
		}
	}
}
