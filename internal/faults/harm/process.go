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
	stopLimit = 2 * time.Minute // for a process to end after it was told to
	lastWords = 4 << 10         // bytes of what it has said, for a violation
)

var errOver = errors.New("the run is over")

// A Process is started again whenever it has ended. It is a group of its own.
type Process struct {
	Name     string
	Command  func(name string, n int) []string // of its nth start, which has a name of its own
	Env      []string                          // besides that of the program
	Clock    *Clock                            // nil for one that never jumps
	Folder   string                            // of the files of what it says
	PIDFile  string                            // of one that can replace itself, see Replace
	Seed     uint64                            // of the pauses between its starts
	Guard    *Guard
	Violated func(format string, args ...any) // told when it has not ended as it should
	MayEnd   func(*os.ProcessState) bool      // so by itself; nil for never

	replacing sync.RWMutex // held while it replaces itself: nothing else happens to it then

	mu       sync.Mutex
	running  *os.Process
	group    int // of it and of those that take its place
	starts   int
	signaled time.Time // when the process that runs was told to end
	killed   bool      // by the program
	replaced bool      // the process that runs was told to replace itself
}

// Run starts the process again and again until ctx is canceled; then it has it end in order.
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

// End has the processes that tasks run end in order, and waits for them.
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

// Once starts the process, and waits until it has ended.
func (p *Process) Once(ctx context.Context) error {
	p.starts++
	name := p.Name + "." + strconv.Itoa(p.starts)
	// A file, since a process that replaces this one has it too, and a pipe would end with this one.
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

// follow waits until a process has ended, and those that take its place, and returns how the last one did.
func (p *Process) follow(process *os.Process) (*os.ProcessState, error) {
	for {
		pid := strconv.Itoa(process.Pid)
		if err := p.Guard.Report(HasProcess, pid); err != nil {
			return nil, err
		}
		p.mu.Lock()
		if p.running != process && !p.signaled.IsZero() { // it was the one before that was
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

// end has the process end in order, until it is over. One that does not is made to say what it waits for.
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

// judge says whether a process ended as it should: killed by the program, in order because it was told to, or as it may.
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

// EndedBy reports whether a process was ended by a signal.
func EndedBy(state *os.ProcessState, s syscall.Signal) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == s
}

// Signal sends one to the process that runs. It is told to end only once: the second time would not be in order.
func (p *Process) Signal(s syscall.Signal) error {
	if s != syscall.SIGCONT { // which helps, if anything
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

// tail returns the end of what a process has said.
func tail(name string) string {
	text, _ := os.ReadFile(name)
	return string(text[max(len(text)-lastWords, 0):])
}
