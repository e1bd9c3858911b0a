//go:build unix

package harm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestGuardCleansUp(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := StartGuard()
	if err != nil {
		t.Fatal(err)
	}
	left, ended := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	for _, cmd := range []*exec.Cmd{left, ended} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := g.Tell(HasProcess, strconv.Itoa(cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Tell(HasEnded, strconv.Itoa(ended.Process.Pid)), g.Tell(HasFolder, folder)); err != nil {
		t.Fatal(err)
	}
	if err := g.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if _ = left.Wait(); left.ProcessState.String() != "signal: killed" {
		t.Errorf("the process that was left ended with %v", left.ProcessState)
	}
	if err := ended.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a process that is not the guard's any more: %v", err)
	}
	_ = ended.Wait()
}

func TestGuardSaysWhatItCannot(t *testing.T) {
	t.Parallel()
	err := GuardUntil(strings.NewReader("process none\nmoon full\nended 7\n"))
	if err == nil || !strings.Contains(err.Error(), "process none") || !strings.Contains(err.Error(), "moon full") {
		t.Errorf("got %v", err)
	}
}
