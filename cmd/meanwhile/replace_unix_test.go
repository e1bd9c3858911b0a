//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestReplaceLosesNothing replaces a log server three times in a row, while clients of a protocol without acknowledgements send
// numbered messages as fast as they can, and others connect and disconnect: no byte is lost, no connection is refused, and each
// client's messages are in order.
func TestReplaceLosesNothing(t *testing.T) {
	testenv.LongTest(t)
	dir := t.TempDir()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", port)
	pidFile := filepath.Join(dir, "pid")
	var said bytes.Buffer
	server := exec.Command(os.Args[0], "logs", "serve", "--listen=", "--http=", "--analogger", address, "--dir", filepath.Join(dir, "store"),
		"--to", "file:"+filepath.Join(dir, "{service}.log"), "--to", "store", "--pid-file", pidFile)
	server.Env = append(os.Environ(), "MEANWHILE_TEST_MAIN=1")
	server.Stderr = &said
	server.WaitDelay = time.Minute
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitPID(t, pidFile, 0)
	t.Cleanup(func() {
		if pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = server.Wait()
		if t.Failed() {
			t.Logf("%s", &said)
		}
	})

	const clients = 4
	var sent [clients]atomic.Int64
	var over atomic.Bool
	visitors := 0
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for i := range clients {
			meanwhile.Go(ctx, func(context.Context) error {
				return sendNumbers(address, "client"+strconv.Itoa(i), &sent[i], over.Load)
			})
		}
		meanwhile.Go(ctx, func(context.Context) error {
			for !over.Load() {
				if err := sendNumbers(address, "visitor"+strconv.Itoa(visitors), new(atomic.Int64), func() bool { return true }); err != nil {
					return err
				}
				visitors++
			}
			return nil
		})
		defer over.Store(true)
		for range 3 {
			for i := range sent { // each client sends again
				for before := sent[i].Load(); sent[i].Load() < before+1000; {
					if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
						return err
					}
				}
			}
			if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
				return err
			}
			pid = waitPID(t, pidFile, pid)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
	pid = 0
	for i := range clients {
		checkNumbers(t, filepath.Join(dir, fmt.Sprintf("client%d.log", i)), int(sent[i].Load()))
	}
	for i := range visitors {
		checkNumbers(t, filepath.Join(dir, fmt.Sprintf("visitor%d.log", i)), 100)
	}
}

// sendNumbers sends a hundred numbered messages at a time, split at positions other than frame ends, until over returns true.
func sendNumbers(address, service string, sent *atomic.Int64, over func() bool) error {
	conn, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(conn, numbered("x", "authentication", "")); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, make([]byte, len("accepted\n"))); err != nil {
		return err
	}
	for {
		var block strings.Builder
		for n := range 100 {
			block.WriteString(numbered(service, "info", strconv.FormatInt(sent.Load()+int64(n), 10)))
		}
		for _, part := range []string{block.String()[:1234], block.String()[1234:]} {
			if _, err := io.WriteString(conn, part); err != nil {
				return err
			}
		}
		sent.Add(100)
		if over() {
			return nil
		}
	}
}

func numbered(service, severity, message string) string {
	n := 11 + len(service) + len(severity) + len(message)
	return fmt.Sprintf("%04d%04d:%s:%s:%s", n, n, service, severity, message)
}

func checkNumbers(t *testing.T, path string, want int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "|info|"+strconv.Itoa(n)+"\n") {
			t.Errorf("%s: line %d is %q", path, n, line)
			return
		}
		n++
	}
	if n != want {
		t.Errorf("%s: %d of %d messages", path, n, want)
	}
}

// waitPID returns the process ID in a file when it differs from before.
func waitPID(t *testing.T, path string, before int) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if pid, bad := strconv.Atoi(string(text)); err == nil && bad == nil && pid != before {
			return pid
		}
	}
	t.Fatalf("no process other than %d has started", before)
	return 0
}

// waitGone waits until a process that is not a child of this one has ended.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Fatalf("process %d does not end", pid)
}
