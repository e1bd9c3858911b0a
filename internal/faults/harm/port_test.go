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
			t.Errorf("port %d is given twice", port)
		}
		seen[port] = true
		nextPort.Add(ports - 1) // the same is next, on which somebody listens now
	}
}

// TestFreePortBesideProcesses: it is free also while processes are started, which have copies of what is open just then.
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

// TestFreePortOfAnotherProcess: a port that another process was given is not given again.
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
		t.Errorf("port %d of another process is given again", given)
	}
	in.Close() // it ends
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !reserve(given) {
		t.Errorf("port %d of a process that has ended is not given again", given)
	}
}

// TestGivePort is the other process.
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
