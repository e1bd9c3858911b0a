package main

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// command starts the command as a separate process whose results are written to stdout.
func command(t *testing.T, stdout *os.File, args ...string) (cmd *exec.Cmd, stderr *bufio.Reader) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be interrupted on this system")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "MEANWHILE_TEST_MAIN=1")
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(pipe)
}

func sendInterrupt(t *testing.T, cmd *exec.Cmd, notes *bufio.Reader) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if line, err := notes.ReadString('\n'); err != nil || !strings.HasPrefix(line, "Stopping") {
		t.Fatalf("got note %q, %v", line, err)
	}
}

func TestInterruptExitCode(t *testing.T) {
	s := newServer()
	defer s.Close()
	cmd, notes := command(t, nil, "fetch", s.URL+"/hang")
	if err := s.await("/hang", 1); err != nil {
		t.Fatal(err)
	}
	sendInterrupt(t, cmd, notes)
	for line := ""; !strings.HasPrefix(line, "Interrupted: 0 done"); {
		var err error
		if line, err = notes.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("got exit code %d, want %d", got, exitInterrupted)
	}
}

// TestSecondInterrupt interrupts the command while it is blocked because its results are not read: the second signal ends it immediately.
func TestSecondInterrupt(t *testing.T) {
	s := newServer()
	defer s.Close()
	reader, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close(); _ = stdout.Close() }()
	// Each result has about 1,000 bytes, and the pipe holds 64 kB. All URLs are printed, done or not.
	args := []string{"fetch", "--json", "-n", "2"}
	for range 100 {
		args = append(args, s.URL+"/ok?"+strings.Repeat("x", 1000))
	}
	cmd, notes := command(t, stdout, args...)
	if err := s.await("/ok", 80); err != nil {
		t.Fatal(err)
	}
	sendInterrupt(t, cmd, notes)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("got exit code %d, want %d", got, exitInterrupted)
	}
}
