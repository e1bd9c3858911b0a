package jobs

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestWorkersTellTheirState lists three workers: one is quiet and one is stopping.
func TestWorkersTellTheirState(t *testing.T) {
	c := &Command{Target: Target{Store: filepath.Join(t.TempDir(), "jobs.db")}}
	err := c.use(true, func(ctx context.Context, s job.Store) error {
		for name, info := range map[string]job.WorkerInfo{
			"a": {Queues: []string{"mail", "search"}, Concurrency: 100, Running: 7}, "b": {Quiet: true}, "c": {Quiet: true, Stopping: true},
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
	for i, want := range []string{"WORKER STATE QUEUES RUNNING MEMORY UP SEEN", "a working mail,search 7/100", "b quiet", "c stopping"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}
