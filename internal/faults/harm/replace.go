//go:build unix

package harm

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// Replace makes the process replace itself, and waits until it has. The program does so at SIGUSR2 once it is ready, which its PID file shows. This
// program becomes the parent of the process that takes its place: see [BecomeSubreaper].
func (p *Process) Replace(ctx context.Context) error {
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
	p.Violated("%s has not replaced itself within %v", p.Name, stopLimit)
	return nil
}

// KillReplacing makes the process begin to replace itself, and kills it after some time, together with the process that takes its place.
func (p *Process) KillReplacing(ctx context.Context, after time.Duration) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	if _, err := p.beginReplacing(); err != nil {
		return err
	}
	if err := meanwhile.Sleep(ctx, after); err != nil {
		return err
	}
	p.mu.Lock()
	group := p.group
	p.killed = true
	err := syscall.Kill(-group, syscall.SIGKILL)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if done, err := p.await(ctx, func() bool { return p.running == nil || p.group != group }); done || err != nil {
		return err
	}
	p.Violated("%s did not end within %v after it was killed", p.Name, stopLimit)
	return nil
}

// beginReplacing sends the running process the signal to replace itself, and returns that process.
func (p *Process) beginReplacing() (before *os.Process, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before = p.running; before == nil || !p.signaled.IsZero() {
		return nil, ErrNothing
	}
	if text, err := os.ReadFile(p.PIDFile); err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(before.Pid) {
		return nil, ErrNothing // it is not ready yet
	}
	p.replaced = true
	_ = before.Signal(syscall.SIGCONT) // a stopped process would not react
	return before, before.Signal(syscall.SIGUSR2)
}

// await waits up to stopLimit until so, which it calls with the lock held, returns true, and reports whether it did.
func (p *Process) await(ctx context.Context, so func() bool) (bool, error) {
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

// next returns the process that has replaced one that ended, or nil.
func (p *Process) next(ended *os.ProcessState) (*os.Process, error) {
	p.mu.Lock()
	replaced := p.replaced && ended.Success()
	p.replaced = false
	p.mu.Unlock()
	if !replaced {
		return nil, nil
	}
	text, err := os.ReadFile(p.PIDFile)
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid == ended.Pid() {
		return nil, fmt.Errorf("the process that replaces %d is %q", ended.Pid(), text)
	}
	return os.FindProcess(pid)
}
