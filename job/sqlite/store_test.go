package sqlite_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

func TestStore(t *testing.T) {
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		t.Parallel()
		return open(t, file(t))
	})
}

// file names a file that does not exist yet.
func file(t testing.TB) string { return filepath.Join(t.TempDir(), "jobs.db") }

// open opens a store that is closed at the end of the test.
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
