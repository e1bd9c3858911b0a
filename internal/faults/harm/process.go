//go:build unix

package harm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	stopLimit = 2 * time.Minute // for a process to end after SIGTERM
	lastWords = 4 << 10         // bytes of its output that a violation quotes
)

var errOver = errors.New("the run is over")

// A Process is a child process that is restarted whenever it ends. It has its own process group.
type Process struct {
	Name     string
	Command  func(name string, n int) []string // of the nth start, which has its own name
	Env      []string                          // added to the environment of this program
	Clock    *Clock                            // nil for one that never jumps
	Folder   string                            // of the files with its output
	PIDFile  string                            // of one that can replace itself, see Replace
	Seed     uint64                            // of the pauses between its starts
	Guard    *Guard
	Violated func(format string, args ...any) // called when it did not end as it should
	MayEnd   func(*os.ProcessState) bool      // whether it may end like this by itself; nil for never

	replacing sync.RWMutex // locked while it replaces itself: other signals wait until then

	mu       sync.Mutex
	running  *os.Process
	group    int // of it and of the processes that replace it
	starts   int
	signaled time.Time // when SIGTERM was sent to the running process
	killed   bool      // by this program
	replaced bool      // the running process was sent the signal to replace itself
}

// Run starts the process again and again until ctx is canceled, and then terminates it.
func (p *Process) Run(ctx context.Context) error {
	r := rand.New(rand.NewPCG(p.Seed, 0))
	for ctx.Err() == nil {
		if err := p.Once(ctx); err != nil {
			return err
		}
		if meanwhile.Sleep(ctx, time.Duration(r.IntN(400))*time.Millisecond) != nil {
			return nil
		}
	}
	return nil
}

// End cancels tasks that run processes, and waits until the processes have ended.
func End(ctx context.Context, tasks ...*meanwhile.Task[struct{}]) error {
	for _, t := range tasks {
		t.Cancel(errOver)
	}
	var errs []error
	for _, t := range tasks {
		if _, err := t.Wait(ctx); err != nil && !errors.Is(err, errOver) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Once starts the process and waits until it has ended.
func (p *Process) Once(ctx context.Context) error {
	p.starts++
	name := p.Name + "." + strconv.Itoa(p.starts)
	// The output goes to a file, which a process that replaces this one inherits too; a pipe would end with this process.
	said, err := os.Create(filepath.Join(p.Folder, name+".stderr"))
	if err != nil {
		return err
	}
	defer said.Close()
	command := p.Command(name, p.starts)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Clock != nil {
		cmd.Env = append(cmd.Env, p.Clock.Env())
	}
	cmd.Stderr, cmd.Stdout = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p.mu.Lock()
	p.running, p.group, p.signaled, p.killed, p.replaced = cmd.Process, cmd.Process.Pid, time.Time{}, false, false
	p.mu.Unlock()
	over, end := context.WithCancel(context.Background())
	defer end()
	unhook := context.AfterFunc(ctx, func() { p.end(over) })
	defer unhook()
	state, err := p.follow(cmd.Process)
	if err != nil {
		return fmt.Errorf("follow %s: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil
	p.judge(name, state, said.Name())
	return nil
}

// follow waits until process and all processes that replace it have ended, and returns the state of the last one.
func (p *Process) follow(process *os.Process) (*os.ProcessState, error) {
	for {
		pid := strconv.Itoa(process.Pid)
		if err := p.Guard.Report(HasProcess, pid); err != nil {
			return nil, err
		}
		p.mu.Lock()
		if p.running != process && !p.signaled.IsZero() { // SIGTERM was sent to the previous process
			_ = process.Signal(syscall.SIGTERM)
		}
		p.running = process
		p.mu.Unlock()
		state, err := process.Wait()
		if err != nil {
			return nil, err
		}
		if err := p.Guard.Report(HasEnded, pid); err != nil {
			return nil, err
		}
		if process, err = p.next(state); process == nil || err != nil {
			return state, err
		}
	}
}

// end terminates the process, unless over is canceled first. A process that does not end in time gets SIGQUIT, so that it prints what it waits for,
// and then SIGKILL.
func (p *Process) end(over context.Context) {
	_ = p.Signal(syscall.SIGTERM)
	if meanwhile.Sleep(over, stopLimit) != nil {
		return
	}
	_ = p.Signal(syscall.SIGQUIT)
	if meanwhile.Sleep(over, 5*time.Second) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		_ = syscall.Kill(-p.group, syscall.SIGKILL)
	}
}

// judge reports a violation unless the process ended as it should: killed by this program, in order after SIGTERM, or as MayEnd allows.
func (p *Process) judge(name string, state *os.ProcessState, said string) {
	asked := !p.signaled.IsZero()
	switch {
	case p.killed && EndedBy(state, syscall.SIGKILL):
	case asked && (state.Success() || state.ExitCode() == 128+int(syscall.SIGTERM) || EndedBy(state, syscall.SIGTERM)):
	case asked && time.Since(p.signaled) >= stopLimit:
		p.Violated("%s did not end within %v: %s", name, stopLimit, tail(said))
	case p.MayEnd != nil && p.MayEnd(state):
	default:
		p.Violated("%s ended by itself, with %v: %s", name, state, tail(said))
	}
}

// EndedBy reports whether a process was ended by the signal s.
func EndedBy(state *os.ProcessState, s syscall.Signal) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == s
}

// Signal sends s to the running process. It sends SIGTERM only once, since after a second one the process would not end in order.
func (p *Process) Signal(s syscall.Signal) error {
	if s != syscall.SIGCONT { // which can only help
		p.replacing.RLock()
		defer p.replacing.RUnlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return os.ErrProcessDone
	}
	switch {
	case s == syscall.SIGKILL:
		p.killed = true
	case s == syscall.SIGTERM && !p.signaled.IsZero():
		return nil
	case s == syscall.SIGTERM:
		p.signaled = time.Now()
	}
	return p.running.Signal(s)
}

// tail returns the end of the output of a process.
func tail(name string) string {
	text, _ := os.ReadFile(name)
	return string(text[max(len(text)-lastWords, 0):])
}
