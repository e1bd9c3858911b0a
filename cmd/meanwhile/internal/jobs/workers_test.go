package jobs

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestGoneWorkers lists workers that were last seen a while ago.
func TestGoneWorkers(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		worker          job.WorkerInfo
		ago             time.Duration
		state, up, seen string
	}{
		{job.WorkerInfo{Queues: []string{"mail"}}, 20 * time.Second, "working", "10m00s", "20s ago"},
		{job.WorkerInfo{Queues: []string{"mail"}}, 3 * time.Minute, "gone", "7m00s", "3m ago"},
		{job.WorkerInfo{Queues: []string{"mail"}, Stopping: true}, 3 * time.Minute, "gone", "7m00s", "3m ago"},
	} {
		test.worker.Name, test.worker.Started, test.worker.Seen = "a", now.Add(-10*time.Minute), now.Add(-test.ago)
		cells := workerCells(test.worker, now)
		if got, want := []string{cells[1], cells[5], cells[6]}, []string{test.state, test.up, test.seen}; !slices.Equal(got, want) {
			t.Errorf("last seen %v ago: got %q, want %q", test.ago, got, want)
		}
	}
}

// TestWorkersTellTheirState lists workers: one is quiet, one is stopping, and two have not reported how many jobs they run at once.
func TestWorkersTellTheirState(t *testing.T) {
	c := &Command{Target: Target{Store: filepath.Join(t.TempDir(), "jobs.db")}}
	err := c.use(true, func(ctx context.Context, s job.Store) error {
		for name, info := range map[string]job.WorkerInfo{
			"a": {Queues: []string{"mail", "search"}, Concurrency: 100, Running: 7}, "b": {Quiet: true}, "c": {Quiet: true, Stopping: true},
			"d": {Queues: []string{"mail"}}, "e": {Queues: []string{"mail"}, Running: 3},
		} {
			info.Started = time.Now()
			if _, err := s.Renew(ctx, job.Renewal{Worker: name, Session: 1, Lease: time.Minute, Info: info}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := new(Workers).Run(c, probe.Streams{Out: &out, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"WORKER STATE QUEUES RUNNING MEMORY UP SEEN", "a working mail,search 7/100", "b quiet", "c stopping", "d working mail – ", "e working mail 3 "} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}
