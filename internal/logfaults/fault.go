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
)

// A fault is something that breaks, now and then.
type fault struct {
	name   string
	weight int // how often beside the others; zero for kills, whose number is given
	begin  func(ctx context.Context, r *rand.Rand) (repair, error)
}

// A repair mends what was broken, some time after. The zero value is for what needs no mending.
type repair struct {
	after time.Duration
	mend  func() error
}

// errNothing says that there was nothing to break.
var errNothing = errors.New("there is nothing to break")

// What is killed, in the table.
const (
	serverKilled = "server killed"
	serverTwice  = "server killed again at once"
	clientKilled = "client killed"
	clientTwice  = "client killed again at once"

	replacedKilled = "server killed while it is replaced"
)

// inject breaks things for a while: kills so many, and between them something else. When it returns, all is mended.
func (s *site) inject(ctx context.Context) error {
	others := slices.DeleteFunc(s.faults(), func(f fault) bool { return !strings.Contains(f.name, s.only) })
	r := rand.New(rand.NewPCG(s.seed, 1))
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		if s.kills > 0 {
			meanwhile.Go(ctx, s.killAll, meanwhile.Name("kills"))
		}
		active, mended := map[string]bool{}, make(chan string, len(others))
		for begun := time.Now(); time.Since(begun) < s.length; {
			if err := meanwhile.Sleep(ctx, min(time.Duration(200+r.IntN(800))*time.Millisecond, s.length)); err != nil {
				return err
			}
			for len(mended) > 0 {
				delete(active, <-mended)
			}
			if len(others) == 0 {
				continue
			}
			f := draw(r, others)
			if active[f.name] {
				continue
			}
			later, err := f.begin(ctx, r)
			if errors.Is(err, errNothing) || errors.Is(err, os.ErrProcessDone) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			s.count(f.name)
			if later.mend == nil {
				continue
			}
			active[f.name] = true
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_ = meanwhile.Sleep(ctx, later.after) // cut short, it is mended all the same
				if err := later.mend(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					return fmt.Errorf("mend %s: %w", f.name, err)
				}
				mended <- f.name
				return nil
			}, meanwhile.Name(f.name))
		}
		return nil
	}, meanwhile.Name("faults"))
}

// killAll kills the given number of processes, spread over the time: the server as often as clients, every third one again
// as soon as it is back.
func (s *site) killAll(ctx context.Context) error {
	r := rand.New(rand.NewPCG(s.seed, 2))
	pause := s.length / time.Duration(s.kills+1)
	for n := 0; n < s.kills; n++ {
		if err := meanwhile.Sleep(ctx, pause); err != nil {
			return err
		}
		victim, once, twice := s.server, serverKilled, serverTwice
		if n%2 == 1 {
			victim, once, twice = s.clients[r.IntN(len(s.clients))], clientKilled, clientTwice
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
func (s *site) kill(ctx context.Context, victim *process, what string) error {
	for {
		err := victim.signal(syscall.SIGKILL)
		if err == nil {
			s.count(what)
			s.count(allKills)
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

func draw(r *rand.Rand, faults []fault) fault {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	n := r.IntN(total)
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	return faults[0]
}

// faults are all but the kills.
func (s *site) faults() []fault {
	all := []fault{
		{"server stopped for a while", 2, func(_ context.Context, r *rand.Rand) (repair, error) { return s.stopFor(s.server, r) }},
		{"client stopped for a while", 2, func(_ context.Context, r *rand.Rand) (repair, error) {
			return s.stopFor(s.clients[r.IntN(len(s.clients))], r)
		}},
		{"client told to end", 2, func(_ context.Context, r *rand.Rand) (repair, error) {
			return repair{}, s.clients[r.IntN(len(s.clients))].signal(syscall.SIGTERM)
		}},
		{"server told to end", 1, func(context.Context, *rand.Rand) (repair, error) { return repair{}, s.server.signal(syscall.SIGTERM) }},
		{"connections cut", 3, func(_ context.Context, r *rand.Rand) (repair, error) {
			if s.proxy.CutSome(r) == 0 {
				return repair{}, errNothing
			}
			return repair{}, nil
		}},
		{"network held up", 2, func(_ context.Context, r *rand.Rand) (repair, error) {
			s.proxy.Hold()
			return repair{time.Duration(500+r.IntN(2500)) * time.Millisecond, func() error { s.proxy.Release(); return nil }}, nil
		}},
	}
	if s.server.pidFile != "" {
		all = append(all, fault{"server replaced by itself", 2, func(ctx context.Context, _ *rand.Rand) (repair, error) {
			return repair{}, s.server.replace(ctx)
		}}, fault{replacedKilled, 1, func(ctx context.Context, r *rand.Rand) (repair, error) {
			return repair{}, s.server.killReplacing(ctx, time.Duration(r.IntN(150))*time.Millisecond)
		}})
	}
	if s.disk.Full {
		all = append(all, fault{"disk of the store full", 1, func(_ context.Context, r *rand.Rand) (repair, error) {
			return repair{time.Duration(300+r.IntN(1500)) * time.Millisecond, s.disk.Free}, s.disk.Fill()
		}})
	}
	return all
}

// stopFor stops a process and lets it go on some time later.
func (s *site) stopFor(p *process, r *rand.Rand) (repair, error) {
	resume := func() error { return p.signal(syscall.SIGCONT) }
	return repair{time.Duration(200+r.IntN(2000)) * time.Millisecond, resume}, p.signal(syscall.SIGSTOP)
}
