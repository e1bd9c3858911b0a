package sqlite_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// fill inserts jobs until the file system is full, and returns the stored ones.
func fill(t *testing.T, s *sqlite.Store) map[job.ID]bool {
	t.Helper()
	stored := map[job.ID]bool{}
	args, err := json.Marshal(strings.Repeat("x", 5000))
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		j, err := job.New("k", args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Insert(t.Context(), j); err != nil {
			if !strings.Contains(err.Error(), "there is no room for") {
				t.Fatalf("unclear: %v", err)
			}
			t.Logf("%d jobs, then: %v", len(stored), err)
			return stored
		}
		stored[j.ID] = true
	}
	t.Fatal("it never was full")
	return nil
}

// checkStored tests that exactly these jobs are stored, and that the store works again after some of them have been deleted.
func checkStored(t *testing.T, s *sqlite.Store, stored map[job.ID]bool) {
	t.Helper()
	var some []job.ID
	for j, err := range job.List(t.Context(), s, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !stored[j.ID] {
			t.Errorf("job %v is stored, although its insert failed", j.ID)
		}
		delete(stored, j.ID)
		some = append(some, j.ID)
	}
	if len(stored) > 0 {
		t.Errorf("%d jobs are lost", len(stored))
	}
	checkIntegrity(t, s)
	for _, id := range some[:len(some)/2] {
		if _, err := s.Apply(t.Context(), job.Filter{IDs: []job.ID{id}, Limit: 1}, job.ActionDelete); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, s, []*job.Job{newJob(t)})
	if n, err := drain(t.Context(), s); err != nil || n != len(some)-len(some)/2+1 {
		t.Errorf("drained %d, %v; want %d", n, err, len(some)-len(some)/2+1)
	}
	checkIntegrity(t, s)
}

func TestMaxPageCount(t *testing.T) {
	s := open(t, "file:"+file(t)+"?_pragma=max_page_count(200)")
	checkStored(t, s, fill(t, s))
}

func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root can mount a small file system, and the test knows how on Linux")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "jobs.db"))
	stored := fill(t, s)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	checkStored(t, s, stored)
}
