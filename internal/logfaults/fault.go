//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

// The rows of the table for kills.
const (
	serverKilled = "server killed"
	serverTwice  = "server killed again at once"
	clientKilled = "client killed"
	clientTwice  = "client killed again at once"

	replacedKilled = "server killed while it is replaced"
)

// inject injects faults for a while: so many kills, and other faults between them. When it returns, all faults are undone. If a test sets drive,
// inject only calls that.
func (s *site) inject(ctx context.Context) error {
	if s.drive != nil {
		return s.drive(ctx, s)
	}
	others := slices.DeleteFunc(s.faults(), func(f harm.Fault) bool { return !strings.Contains(f.Name, s.only) })
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		if s.kills > 0 {
			meanwhile.Go(ctx, s.killAll, meanwhile.Name("kills"))
		}
		return harm.Break(ctx, rand.New(rand.NewPCG(s.seed, 1)), others, s.length, 600*time.Millisecond, s.count)
	})
}

// killAll kills the given number of processes, spread over the length of the run: the server as often as clients. Every third kill is followed by
// another of the same process as soon as it is back.
func (s *site) killAll(ctx context.Context) error {
	r := rand.New(rand.NewPCG(s.seed, 2))
	pause := s.length / time.Duration(s.kills+1)
	for n := 0; n < s.kills; n++ {
		if err := meanwhile.Sleep(ctx, pause); err != nil {
			return err
		}
		victim, once, twice := s.server, serverKilled, serverTwice
		if n%2 == 1 {
			victim, once, twice = s.anyClient(r), clientKilled, clientTwice
		}
		if !strings.Contains(once, s.only) {
			continue
		}
		if err := s.kill(ctx, victim, once); err != nil {
			return err
		}
		if n%3 == 0 && n+1 < s.kills {
			n++
			if err := s.kill(ctx, victim, twice); err != nil {
				return err
			}
		}
	}
	return nil
}

// kill waits until a process runs, and kills it.
func (s *site) kill(ctx context.Context, victim *harm.Process, what string) error {
	for {
		err := s.killNow(victim)
		if err == nil {
			s.count(what)
			return nil
		}
		if !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// killNow kills a process, if it runs.
func (s *site) killNow(p *harm.Process) error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		s.count(allKills)
	}
	return err
}

// faults returns all faults but the kills.
func (s *site) faults() []harm.Fault {
	all := slices.Concat([]harm.Fault{
		{Name: "server stopped for a while", Weight: 2, Inject: s.stop(func(*rand.Rand) *harm.Process { return s.server })},
		{Name: "client stopped for a while", Weight: 2, Inject: s.stop(s.anyClient)},
		{Name: "server told to end", Weight: 1, Inject: func(context.Context, *rand.Rand) (harm.Repair, error) {
			return harm.Repair{}, s.server.Signal(syscall.SIGTERM)
		}},
		{Name: "client told to end", Weight: 2, Inject: func(_ context.Context, r *rand.Rand) (harm.Repair, error) {
			return harm.Repair{}, s.anyClient(r).Signal(syscall.SIGTERM)
		}},
	}, s.clockFaults(), s.proxy.Faults(), s.disk.Faults())
	if s.server.PIDFile != "" {
		all = append(all, harm.Fault{Name: "server replaced by itself", Weight: 2, Inject: func(ctx context.Context, _ *rand.Rand) (harm.Repair, error) {
			return harm.Repair{}, s.server.Replace(ctx)
		}}, harm.Fault{Name: replacedKilled, Weight: 1, Inject: func(ctx context.Context, r *rand.Rand) (harm.Repair, error) {
			err := s.server.KillReplacing(ctx, time.Duration(r.IntN(150))*time.Millisecond)
			if err == nil {
				s.count(allKills)
			}
			return harm.Repair{}, err
		}})
	}
	return all
}

func (s *site) anyClient(r *rand.Rand) *harm.Process { return s.clients[r.IntN(len(s.clients))] }

// stop returns a fault that stops a process and resumes it some time later.
func (s *site) stop(which func(*rand.Rand) *harm.Process) func(context.Context, *rand.Rand) (harm.Repair, error) {
	return func(_ context.Context, r *rand.Rand) (harm.Repair, error) {
		p := which(r)
		resume := func(context.Context) error { return p.Signal(syscall.SIGCONT) }
		return harm.Repair{After: time.Duration(200+r.IntN(2000)) * time.Millisecond, Undo: resume}, p.Signal(syscall.SIGSTOP)
	}
}
