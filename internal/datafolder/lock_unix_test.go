//go:build unix

package datafolder

import (
	"os"
	"os/exec"
	"testing"
)

// TestCloseLetsGoThoughAChildHasTheFile: a process that is being started has a copy of each open file until it executes its program.
func TestCloseLetsGoThoughAChildHasTheFile(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{first.file}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait() // the error says that it was killed
	}()
	if second, err := LockShared(dir); err == nil {
		t.Error("two locks of the folder are held", second.Close())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := LockShared(dir)
	if err != nil {
		t.Fatalf("the folder is not let go: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
