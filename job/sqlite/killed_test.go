package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

const writerFile = "MEANWHILE_TEST_SQLITE_FILE"

// TestWriter is the process that is killed: it inserts, claims and settles without end, and prints the jobs whose storage was
// acknowledged.
func TestWriter(t *testing.T) {
	path := os.Getenv(writerFile)
	if path == "" {
		t.Skip("run by TestKilled")
	}
	s := open(t, path)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for range 8 {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				for {
					j := newJob(t)
					if _, err := s.Insert(ctx, j); err != nil {
						return err
					}
					fmt.Println(j.ID)
				}
			})
		}
		for {
			if _, err := drain(ctx, s); err != nil {
				return err
			}
		}
	})
	t.Fatal(err)
}

func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	stored := map[job.ID]bool{}
	for range 3 {
		var mu sync.Mutex
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			for range 2 { // concurrent processes
				meanwhile.Go(ctx, func(ctx context.Context) error {
					ids, err := killWriter(ctx, path)
					mu.Lock()
					defer mu.Unlock()
					for _, id := range ids {
						stored[id] = true
					}
					return err
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		found := map[job.ID]bool{}
		for j, err := range job.List(t.Context(), s, job.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			found[j.ID] = true
		}
		for id := range stored {
			if !found[id] {
				t.Errorf("job %v is missing", id)
			}
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d jobs were acknowledged", len(stored))
}

// killWriter runs a writing process for a while, kills it, and returns the jobs that it printed as stored.
func killWriter(ctx context.Context, path string) ([]job.ID, error) {
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWriter$")
	c.Env = append(os.Environ(), writerFile+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	var ids []job.ID
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, err := job.ParseID(lines.Text())
		if err != nil {
			continue // cut off by the kill, or not printed by the test
		}
		if ids = append(ids, id); len(ids) == 300 {
			if err := c.Process.Kill(); err != nil {
				return nil, err
			}
		}
	}
	if err := c.Wait(); err == nil || len(ids) < 300 {
		return nil, fmt.Errorf("the writer ended by itself after %d jobs: %w", len(ids), err)
	}
	return ids, nil
}
