//go:build unix

package privatefile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/privatefile"
)

func TestCreate(t *testing.T) {
	before := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(before) })
	dir := t.TempDir()
	made, there := filepath.Join(dir, "made"), filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("text"), 0o664); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{made: 0o600, there: 0o664} {
		for range 2 {
			if err := privatefile.Create(path); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v; want mode %o", path, info, err, want)
			}
		}
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "text" {
		t.Errorf("the existing file has %q, %v", text, err)
	}
	if err := privatefile.Create(filepath.Join(dir, "none", "x")); err == nil {
		t.Error("a file was created in a missing folder")
	}
}
