package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// startDemo starts the demo with its own folder for temporary files, and returns its output.
func startDemo(t *testing.T, temporary string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	t.Setenv("TMPDIR", temporary)
	reader, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ := command(t, stdout, append([]string{"demo"}, args...)...)
	t.Cleanup(func() { _ = reader.Close() })
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(reader)
}

// readUntil reads lines until one starts with a text.
func readUntil(t *testing.T, lines *bufio.Reader, begin string) {
	t.Helper()
	for line := ""; !strings.HasPrefix(line, begin); {
		var err error
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatalf("%v before a line that starts with %q", err, begin)
		}
	}
}

func countFiles(t *testing.T, folder string) int {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestDemoInterrupted stops the demo in the middle, with exit code 130, and after its table, with exit code 0. It leaves no files.
func TestDemoInterrupted(t *testing.T) {
	for _, test := range []struct {
		latency, begin string
		code           int
	}{
		{"10s", "The search engine, at", exitInterrupted},
		{"1ms", "Ctrl-C stops the demo", 0},
	} {
		temporary := t.TempDir()
		cmd, lines := startDemo(t, temporary, "--documents", "5", "--latency", test.latency)
		readUntil(t, lines, test.begin)
		if got := countFiles(t, temporary); got != 1 {
			t.Errorf("%q: %d temporary folders while it runs, want 1", test.begin, got)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != test.code {
			t.Errorf("%q: got exit code %d, want %d", test.begin, got, test.code)
		}
		if got := countFiles(t, temporary); got != 0 {
			t.Errorf("%q: %d temporary folders are left", test.begin, got)
		}
	}
}

// TestDemoLeft closes the demo's terminal, or the reader of its output: the demo cleans up all the same.
func TestDemoLeft(t *testing.T) {
	temporary := t.TempDir()
	cmd, lines := startDemo(t, temporary, "--documents", "5", "--latency", "10s")
	readUntil(t, lines, "The search engine")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got, want := cmd.ProcessState.ExitCode(), 128+int(syscall.SIGHUP); got != want {
		t.Errorf("got exit code %d, want %d", got, want)
	}
	t.Setenv("TMPDIR", temporary)
	reader, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd, notes := command(t, stdout, "demo", "--documents", "5", "--latency", "1ms")
	if err := errors.Join(stdout.Close(), reader.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(notes); strings.Count(string(text), "\n") != 1 || err != nil {
		t.Errorf("got %q, %v, want a line", text, err)
	}
	_ = cmd.Wait()
	if got, want := cmd.ProcessState.ExitCode(), 128+int(syscall.SIGPIPE); got != want {
		t.Errorf("got exit code %d, want %d", got, want)
	}
	if got := countFiles(t, temporary); got != 0 {
		t.Errorf("%d temporary folders are left", got)
	}
}

// TestDemoKilled runs the demo after another one was killed: the files that were left do not matter.
func TestDemoKilled(t *testing.T) {
	temporary := t.TempDir()
	cmd, lines := startDemo(t, temporary, "--documents", "5", "--latency", "10s")
	readUntil(t, lines, "The search engine, at")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	cmd, lines = startDemo(t, temporary, "--documents", "5", "--latency", "1ms", "--exit")
	readUntil(t, lines, "1,000 tasks")
	readUntil(t, lines, "A search for")
	for { // read to the end, or it could not write
		if _, err := lines.ReadString('\n'); err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := countFiles(t, temporary); got != 1 {
		t.Errorf("%d temporary folders, want that of the killed run", got)
	}
}
