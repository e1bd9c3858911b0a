package logs

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

const (
	startLimit = 20 * time.Second
	stopLimit  = 20 * time.Second
)

// A process is a server in a process of its own.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	mu     sync.Mutex
	output bytes.Buffer
}

// start starts a server and waits until it listens at the address. It is stopped at the end of the test.
func start(tb testing.TB, address string, cmd *exec.Cmd) *process {
	tb.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its state has how it ended
		close(p.ended)
	}()
	tb.Cleanup(func() { p.stop(tb) })
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
			return p
		}
		select {
		case <-p.ended:
			tb.Fatalf("%s ended: %v: %s", cmd.Path, cmd.ProcessState, p.said())
		default:
		}
		if time.Since(begun) > startLimit {
			tb.Fatalf("%s does not listen: %v: %s", cmd.Path, err, p.said())
		}
	}
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(text)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// stop shuts the process down gracefully.
func (p *process) stop(tb testing.TB) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		_ = p.cmd.Process.Kill()
		<-p.ended
		tb.Errorf("%s does not stop on the signal: %s", p.cmd.Path, p.said())
	}
}

// A usage has the resources that a process has used until now.
type usage struct {
	cpu  time.Duration
	peak int64 // peak memory in bytes
}

// usage reads the kernel's accounting; processor time has a resolution of a hundredth of a second.
func (p *process) usage(tb testing.TB) (u usage) {
	tb.Helper()
	folder := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		tb.Fatal(err)
	}
	// After the name, which may contain any characters: the state, then numbers.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		tb.Fatalf("read the peak of memory: %v", err)
	}
	u.peak = kilobytes << 10
	return u
}

// freePort returns a port that no process listens on.
func freePort(tb testing.TB) int {
	tb.Helper()
	port, err := harm.FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// write writes a file of a server's configuration, and returns its path.
func write(tb testing.TB, folder, name, text string) (path string) {
	tb.Helper()
	path = filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
