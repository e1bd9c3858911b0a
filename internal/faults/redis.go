//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

const redisLimit = time.Minute // how long a server may take to answer

// A redisServer is a Redis server of the program's own.
type redisServer struct {
	folder, program string
	args            []string // in addition to those of all servers
	port            int
	guard           *harm.Guard
	command         *exec.Cmd
	up              atomic.Bool
}

// startRedis starts a server with its files in folder, which it creates. The server syncs its append-only file as appendfsync says.
func startRedis(ctx context.Context, folder, appendfsync string, g *harm.Guard, args ...string) (*redisServer, error) {
	s := &redisServer{folder: folder, args: append([]string{"--appendfsync", appendfsync}, args...), guard: g}
	var err error
	if s.program, err = exec.LookPath("redis-server"); err != nil {
		return nil, fmt.Errorf("the Redis server is not installed: %w", err)
	}
	if s.port, err = harm.FreePort(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		return nil, err
	}
	s.up.Store(true)
	return s, s.start(ctx)
}

func (s *redisServer) start(ctx context.Context) error {
	s.command = exec.Command(s.program, append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.folder, "--save", "", "--appendonly", "yes", "--repl-diskless-sync-delay", "0",
	}, s.args...)...)
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.command.Start(); err != nil {
		return err
	}
	if err := s.guard.Report(harm.HasProcess, strconv.Itoa(s.command.Process.Pid)); err != nil {
		return err
	}
	for begun := time.Now(); !s.answers(); {
		if time.Since(begun) > redisLimit {
			return errors.New("redis-server does not answer")
		}
		if err := meanwhile.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// answers reports whether the server is up and has loaded its data.
func (s *redisServer) answers() bool {
	answer, err := s.ask("PING")
	return err == nil && strings.HasPrefix(answer, "+PONG")
}

// ask sends a command and returns the answer, which must be short.
func (s *redisServer) ask(command string) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// stop ends the server, in order with SIGTERM or at once with SIGKILL.
func (s *redisServer) stop(sig syscall.Signal) error {
	if err := s.command.Process.Signal(sig); err != nil {
		return err
	}
	_ = s.command.Wait() // its error is only how the server ended
	return s.guard.Report(harm.HasEnded, strconv.Itoa(s.command.Process.Pid))
}

func (s *redisServer) faults() []harm.Fault {
	return []harm.Fault{
		{Name: "server restarted, in order", Weight: 1, Inject: s.restart(syscall.SIGTERM)},
		{Name: "server killed", Weight: 2, Inject: s.restart(syscall.SIGKILL)},
	}
}

// restart stops the server and starts it again some time later.
func (s *redisServer) restart(sig syscall.Signal) func(context.Context, *rand.Rand) (harm.Repair, error) {
	return func(_ context.Context, r *rand.Rand) (harm.Repair, error) {
		if !s.up.CompareAndSwap(true, false) {
			return harm.Repair{}, harm.ErrNothing
		}
		start := func(ctx context.Context) error {
			if ctx.Err() != nil {
				return nil // the program ends, and needs no server any more
			}
			defer s.up.Store(true)
			return s.start(ctx)
		}
		return harm.Repair{After: time.Duration(r.IntN(1500)) * time.Millisecond, Undo: start}, s.stop(sig)
	}
}

func redisURL(port int, name string) string {
	return fmt.Sprintf("redis://127.0.0.1:%d?name=%s", port, name)
}
