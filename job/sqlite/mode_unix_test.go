//go:build unix

package sqlite_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// TestModes opens files under a umask of 0: only the owner can access the files that the store creates, and the mode of existing
// files does not change.
func TestModes(t *testing.T) {
	before := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(before) })
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there.db"), filepath.Join(dir, "link.db")
	if err := os.WriteFile(there, nil, 0o660); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("behind.db", link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		url, path string
		want      os.FileMode
	}{
		{filepath.Join(dir, "new.db"), filepath.Join(dir, "new.db"), 0o600},
		{"sqlite:" + filepath.Join(dir, "url.db"), filepath.Join(dir, "url.db"), 0o600},
		{"file:" + filepath.Join(dir, "rwc.db") + "?mode=rwc", filepath.Join(dir, "rwc.db"), 0o600},
		{link, filepath.Join(dir, "behind.db"), 0o600},
		{there, there, 0o660},
	} {
		s, err := sqlite.Open(t.Context(), test.url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Insert(t.Context(), s, newJob(t)); err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(test.path + end)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != test.want {
				t.Errorf("%s: the mode of %s is %o, want %o", test.url, filepath.Base(test.path+end), got, test.want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := sqlite.Open(t.Context(), "file:"+filepath.Join(dir, "none.db")+"?mode=rw"); err == nil {
		t.Error("mode=rw has opened a file that does not exist")
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("mode=rw has created a file")
	}
}
