//go:build unix

package main

import (
	"context"
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
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

const stopLimit = 30 * time.Second // for a process to end after it was told to

// A process is a worker or an enqueuer that is started again whenever it has ended.
type process struct {
	round *round
	role  string
	name  string
	seed  uint64

	mu      sync.Mutex
	running *os.Process
	told    time.Time // when the process that runs was told to end
	killed  bool      // by the program
	started int
}

// run starts the process again and again until ctx is canceled; then it has it end in order.
func (p *process) run(ctx context.Context) error {
	r := rand.New(rand.NewPCG(p.seed, 0))
	for ctx.Err() == nil {
		if err := p.once(ctx); err != nil {
			return err
		}
		if meanwhile.Sleep(ctx, time.Duration(r.IntN(500))*time.Millisecond) != nil {
			return nil
		}
	}
	return nil
}

func (p *process) once(ctx context.Context) error {
	c := p.round.config
	p.started++
	name := p.name + "." + strconv.Itoa(p.started)
	ended, end := context.WithCancel(context.Background())
	defer end()
	var stderr harm.Tail
	cmd := exec.CommandContext(ctx, p.round.self, "-role", p.role, "-url", p.round.url, "-name", name,
		"-ledger", filepath.Join(p.round.ledgers, name+".ledger"), "-lease", c.lease.String(),
		"-rate", strconv.Itoa(max(c.rate/c.enqueuers, 1)), "-seed", strconv.FormatUint(p.seed+uint64(p.started)<<20, 10))
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		_, err := p.signal(syscall.SIGTERM)
		return err
	}
	cmd.WaitDelay = stopLimit + 5*time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := p.round.guard.Tell(harm.HasProcess, pid); err != nil {
		return err
	}
	p.mu.Lock()
	p.running, p.told, p.killed = cmd.Process, time.Time{}, false
	p.mu.Unlock()
	// One that does not end is made to say what it waits for.
	unhook := context.AfterFunc(ctx, func() {
		if meanwhile.Sleep(ended, stopLimit) == nil {
			_, _ = p.signal(syscall.SIGQUIT)
		}
	})
	_ = cmd.Wait() // judge looks at the state
	unhook()
	end()
	p.mu.Lock()
	p.running = nil
	p.judge(name, cmd.ProcessState, stderr.String())
	p.mu.Unlock()
	return p.round.guard.Tell(harm.HasEnded, pid)
}

// judge says whether a process ended as it should: killed by the program, or by a job that kills its worker, or in order because
// it was told to.
func (p *process) judge(name string, state *os.ProcessState, stderr string) {
	told := !p.told.IsZero()
	switch {
	case p.killed && endedBy(state, syscall.SIGKILL):
	case told && (state.Success() || state.ExitCode() == 128+int(syscall.SIGTERM) || endedBy(state, syscall.SIGTERM)):
	case told && time.Since(p.told) > stopLimit:
		p.round.violated("%s did not end within %v: %s", name, stopLimit, stderr)
	case p.role == "worker" && endedBy(state, syscall.SIGKILL):
		p.round.count("worker killed by its job")
	default:
		p.round.violated("%s ended by itself, with %v: %s", name, state, stderr)
	}
}

func endedBy(state *os.ProcessState, s syscall.Signal) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == s
}

// signal sends one to the process that runs, and returns that. It is told to end only once: the second time would not be in
// order.
func (p *process) signal(s syscall.Signal) (*os.Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil, os.ErrProcessDone
	}
	switch {
	case s == syscall.SIGKILL:
		p.killed = true
	case s == syscall.SIGTERM && !p.told.IsZero():
		return p.running, nil
	case s == syscall.SIGTERM:
		p.told = time.Now()
	}
	return p.running, p.running.Signal(s)
}
