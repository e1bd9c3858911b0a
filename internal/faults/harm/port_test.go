//go:build unix

package harm

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
)

func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 20 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if !listens(port) {
			t.Errorf("port %d counts as free while somebody listens there", port)
		}
		if seen[port] {
			t.Errorf("FreePort returned port %d twice", port)
		}
		seen[port] = true
		nextPort.Add(ports - 1) // the next candidate is the same port, on which somebody listens now
	}
}

// TestFreePortBesideProcesses: a port is free even while processes are started, which inherit what is open at that moment.
func TestFreePortBesideProcesses(t *testing.T) {
	t.Parallel()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				_ = exec.Command(os.Args[0], "-test.run", "^$").Run()
			}
		}
	}()
	defer func() { close(done); <-ended }()
	for range 1000 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

// TestFreePortOfAnotherProcess: a port that FreePort returned in another process cannot be reserved until that process ends.
func TestFreePortOfAnotherProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ports are reserved on Linux only")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestGivePort$", "-test.v")
	cmd.Env = append(os.Environ(), "MEANWHILE_GIVE_PORT=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	given := 0
	for lines := bufio.NewScanner(out); given == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "given %d", &given)
	}
	if given == 0 || reserve(given) {
		t.Errorf("port %d of another process can be reserved", given)
	}
	in.Close() // the other process ends
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !reserve(given) {
		t.Errorf("port %d of a process that has ended cannot be reserved", given)
	}
}

// TestGivePort is the other process of TestFreePortOfAnotherProcess.
func TestGivePort(t *testing.T) {
	if os.Getenv("MEANWHILE_GIVE_PORT") == "" {
		return
	}
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("given %d\n", port)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
