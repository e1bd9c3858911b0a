//go:build unix

package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

const (
	buildLimit = 10 * time.Minute
	startLimit = time.Minute
	stopLimit  = 30 * time.Second
)

// programs is the folder of the built programs.
var programs string

// guard stops the servers and removes their programs, even if the tests are killed.
var guard *harm.Guard

func TestMain(m *testing.M) {
	code, err := 0, error(nil)
	if slices.Equal(os.Args[1:], []string{"-role", "guard"}) {
		err = harm.GuardUntil(os.Stdin)
	} else {
		code, err = guarded(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func guarded(m *testing.M) (code int, err error) {
	if guard, err = harm.StartGuard(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, guard.End()) }()
	if programs, err = os.MkdirTemp("", "engines"); err != nil {
		return 0, err
	}
	if err := guard.Report(harm.HasFolder, programs); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// Builds of the programs, each with the modules of its own folder, and once for all tests.
var (
	buildMeanwhile = sync.OnceValues(func() (string, error) { return build("..", "./cmd/meanwhile") })
	buildCollector = sync.OnceValues(func() (string, error) { return build(".", "./collector") })
)

func build(module, program string) (path string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	path = filepath.Join(programs, filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-C", module, "-buildvcs=false", "-o", path, program)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	wait, err := begin(cmd)
	if err == nil {
		err = wait()
	}
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, &said)
	}
	return path, nil
}

// begin starts a process that is registered with the guard until wait returns.
func begin(cmd *exec.Cmd) (wait func() error, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	told := guard.Report(harm.HasProcess, pid)
	return func() error { return errors.Join(cmd.Wait(), told, guard.Report(harm.HasEnded, pid)) }, nil
}

// built returns the path of a program. If it cannot be built because its modules cannot be downloaded, the test is skipped; in CI it fails.
func built(t *testing.T, program func() (string, error)) string {
	t.Helper()
	path, err := program()
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	return path
}

// A process is a server process that can be killed and restarted.
type process struct {
	t       *testing.T
	command []string
	address string // answers HTTP when the server is up

	cmd   *exec.Cmd
	ended chan struct{} // closed when the latest process has ended

	mu   sync.Mutex
	said bytes.Buffer
}

// start starts a server, waits until it is up, and stops it at the end of the test.
func start(t *testing.T, address string, command ...string) *process {
	t.Helper()
	p := &process{t: t, command: command, address: address}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("the output of %s:\n%s", p.name(), p.output())
		}
	})
	p.start()
	return p
}

// start starts the process again, with the same command.
func (p *process) start() {
	p.t.Helper()
	cmd, ended := exec.Command(p.command[0], p.command[1:]...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = p, p
	wait, err := begin(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd, p.ended = cmd, ended
	go func() {
		_ = wait() // its exit is in cmd.ProcessState
		close(ended)
	}()
	err = until(startLimit, func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		response, err := http.Get("http://" + p.address)
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	})
	select {
	case <-ended:
		p.t.Fatalf("%s ended immediately: %v", p.name(), cmd.ProcessState)
	default:
	}
	if err != nil {
		p.t.Fatalf("%s does not start: %v", p.name(), err)
	}
}

// kill kills the process, even if it is suspended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// hold suspends the process, and release resumes it.
func (p *process) hold()    { p.signal(syscall.SIGSTOP) }
func (p *process) release() { p.signal(syscall.SIGCONT) }

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.name(), err)
	}
}

// stop terminates the process gracefully.
func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		p.kill()
		p.t.Errorf("%s does not stop", p.name())
	}
}

func (p *process) name() string { return filepath.Base(p.command[0]) }

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(text)
}

// output returns the end of the process's output.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.said.String()
	return strings.TrimSpace(text[max(0, len(text)-8<<10):])
}

// until polls until done returns true.
func until(limit time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for !done() {
		if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
