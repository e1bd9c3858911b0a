//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

const stopLimit = 30 * time.Second // for a process to end after it was told to

var errDone = errors.New("the run is over")

// A process is the server or a client, and is started again whenever it has ended.
type process struct {
	site    *site
	name    string
	command func(name string) []string // of its nth start
	last    bool                       // it is to end by itself
	pidFile string                     // of a process that can replace itself
	seed    uint64

	replacing sync.RWMutex // held while it replaces itself: nothing else happens to it then

	mu       sync.Mutex
	running  *os.Process
	group    int       // of it and of those that take its place
	ended    int       // how many groups have
	replaced bool      // the process that runs was told to replace itself
	told     time.Time // when the process that runs was told to end
	killed   bool      // by the program
	starts   int
}

// run starts the process again and again until ctx is canceled; then it has it end in order.
func (p *process) run(ctx context.Context) error {
	r := rand.New(rand.NewPCG(p.seed, 0))
	for ctx.Err() == nil {
		if err := p.once(ctx); err != nil {
			return err
		}
		if meanwhile.Sleep(ctx, time.Duration(r.IntN(300))*time.Millisecond) != nil {
			return nil
		}
	}
	return nil
}

// once starts the process, and waits until it has ended.
func (p *process) once(ctx context.Context) error {
	p.starts++
	name := p.name + "." + strconv.Itoa(p.starts)
	args := p.command(name)
	// A file, since a process that replaces this one has it too, and a pipe would end with this one.
	said, err := os.Create(filepath.Join(p.site.folder, name+".stderr"))
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), p.site.env...)
	cmd.Stderr, cmd.Stdout = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return p.signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := p.site.guard.Tell(harm.HasProcess, pid); err != nil {
		return err
	}
	p.mu.Lock()
	p.running, p.group, p.told, p.killed, p.replaced = cmd.Process, cmd.Process.Pid, time.Time{}, false, false
	p.mu.Unlock()
	_ = cmd.Wait() // judge looks at the state
	state, err := p.follow(ctx, cmd.ProcessState)
	if err != nil {
		return fmt.Errorf("follow %s: %w", name, err)
	}
	p.mu.Lock()
	p.running = nil
	p.ended++
	p.judge(name, state, said.Name())
	p.mu.Unlock()
	return p.site.guard.Tell(harm.HasEnded, pid)
}

// follow waits for the processes that have taken the place of one that ended, and returns how the last one did.
func (p *process) follow(ctx context.Context, state *os.ProcessState) (*os.ProcessState, error) {
	for {
		p.mu.Lock()
		replaced := p.replaced && state.Success()
		p.replaced = false
		p.mu.Unlock()
		if !replaced {
			return state, nil
		}
		text, err := os.ReadFile(p.pidFile)
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || pid == state.Pid() {
			return nil, fmt.Errorf("the process that replaces %d is %q", state.Pid(), text)
		}
		next, err := os.FindProcess(pid)
		if err != nil {
			return nil, err
		}
		if err := p.site.guard.Tell(harm.HasProcess, strconv.Itoa(pid)); err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.running = next
		p.mu.Unlock()
		unhook := context.AfterFunc(ctx, func() { _ = p.signal(syscall.SIGTERM) })
		state, err = next.Wait() // it is a child of this program since its parent has ended, see adopt
		unhook()
		if err != nil {
			return nil, err
		}
		if err := p.site.guard.Tell(harm.HasEnded, strconv.Itoa(pid)); err != nil {
			return nil, err
		}
	}
}

// replace has the process replace itself, and waits until it has.
func (p *process) replace(ctx context.Context) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	before, err := p.beginReplacing()
	if err != nil {
		return err
	}
	if done, err := p.await(ctx, func() bool { return p.running != before }); done || err != nil {
		return err
	}
	p.mu.Lock()
	p.replaced = false
	p.mu.Unlock()
	p.site.violated("%s has not replaced itself within %v", p.name, stopLimit)
	return nil
}

// killReplacing kills the process some time after it was told to replace itself, with the one that takes its place.
func (p *process) killReplacing(ctx context.Context, after time.Duration) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	if _, err := p.beginReplacing(); err != nil {
		return err
	}
	if err := meanwhile.Sleep(ctx, after); err != nil {
		return err
	}
	p.mu.Lock()
	ended := p.ended
	p.killed = true
	err := syscall.Kill(-p.group, syscall.SIGKILL)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if done, err := p.await(ctx, func() bool { return p.ended > ended }); done || err != nil {
		return err
	}
	p.site.violated("%s did not end within %v after it was killed", p.name, stopLimit)
	return nil
}

// beginReplacing tells the process that runs to replace itself, and returns it.
func (p *process) beginReplacing() (before *os.Process, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before = p.running; before == nil || !p.told.IsZero() {
		return nil, errNothing
	}
	if text, err := os.ReadFile(p.pidFile); err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(before.Pid) {
		return nil, errNothing // it is not ready yet
	}
	p.replaced = true
	_ = before.Signal(syscall.SIGCONT) // one that is stopped would not
	return before, before.Signal(syscall.SIGUSR2)
}

// await waits until something is so, which is asked with the lock held, and reports whether it was in time.
func (p *process) await(ctx context.Context, so func() bool) (bool, error) {
	for begun := time.Now(); time.Since(begun) < stopLimit; {
		p.mu.Lock()
		done := so()
		p.mu.Unlock()
		if done {
			return true, nil
		}
		if err := meanwhile.Sleep(ctx, 5*time.Millisecond); err != nil {
			return false, err
		}
	}
	return false, nil
}

// judge says whether a process ended as it should: killed by the program, or in order because it was told to.
func (p *process) judge(name string, state *os.ProcessState, said string) {
	told := !p.told.IsZero()
	status, _ := state.Sys().(syscall.WaitStatus)
	switch {
	case p.killed && status.Signaled() && status.Signal() == syscall.SIGKILL:
	case p.last && state.Success():
	case told && (state.Success() || state.ExitCode() == 128+int(syscall.SIGTERM) || status.Signaled() && status.Signal() == syscall.SIGTERM):
	case told && time.Since(p.told) >= stopLimit:
		p.site.violated("%s did not end within %v: %s", name, stopLimit, tail(said))
	default:
		p.site.violated("%s ended by itself, with %v: %s", name, state, tail(said))
	}
}

// signal sends one to the process that runs. It is told to end only once: the second time would not be in order.
func (p *process) signal(s syscall.Signal) error {
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
	case s == syscall.SIGTERM && !p.told.IsZero():
		return nil
	case s == syscall.SIGTERM:
		p.told = time.Now()
		_ = p.running.Signal(syscall.SIGCONT) // one that was stopped cannot end
	}
	return p.running.Signal(s)
}

// tail returns the end of what a process has said.
func tail(name string) string {
	text, _ := os.ReadFile(name)
	return string(text[max(len(text)-4<<10, 0):])
}
