package sqlite_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

func TestStore(t *testing.T) {
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		t.Parallel()
		return open(t, migrated(t))
	})
}

// empty is a migrated database without jobs. Hundreds of tests of the contract need a new one, and migrating takes most of their time.
var empty = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "meanwhile")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "jobs.db")
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // moves the whole log into the one file
		return nil, err
	}
	return os.ReadFile(path)
})

// migrated returns the path of a database without jobs.
func migrated(t testing.TB) string {
	t.Helper()
	content, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	path := file(t)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// file returns the path of a file that does not exist yet.
func file(t testing.TB) string { return filepath.Join(t.TempDir(), "jobs.db") }

// open opens a store for the duration of the test.
func open(t testing.TB, url string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func newJob(t testing.TB, opts ...job.EnqueueOption) *job.Job {
	t.Helper()
	j, err := job.New("k", json.RawMessage(`{"n":1}`), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
