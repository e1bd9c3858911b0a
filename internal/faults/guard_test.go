//go:build unix

package main

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
	g, err := startGuard()
	if err != nil {
		t.Fatal(err)
	}
	left, ended := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	for _, cmd := range []*exec.Cmd{left, ended} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := g.tell(hasProcess, strconv.Itoa(cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.tell(hasEnded, strconv.Itoa(ended.Process.Pid)), g.tell(hasFolder, folder)); err != nil {
		t.Fatal(err)
	}
	if err := g.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if _ = left.Wait(); !endedBy(left.ProcessState, syscall.SIGKILL) {
		t.Errorf("the process that was left ended with %v", left.ProcessState)
	}
	if err := ended.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a process that is not the guard's any more: %v", err)
	}
	_ = ended.Wait()
}

func TestGuardSaysWhatItCannot(t *testing.T) {
	t.Parallel()
	err := guardUntil(strings.NewReader("process none\nmoon full\nended 7\n"))
	if err == nil || !strings.Contains(err.Error(), "process none") || !strings.Contains(err.Error(), "moon full") {
		t.Errorf("got %v", err)
	}
}
