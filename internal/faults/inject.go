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

// A fault is something that breaks, now and then.
type fault struct {
	name   string
	weight int
	begin  func(ctx context.Context, r *rand.Rand) (repair, error)
}

// A repair mends what was broken, some time after. The zero value is for what needs no mending.
type repair struct {
	after time.Duration
	mend  func(ctx context.Context) error
}

// errNothing says that there was nothing to break.
var errNothing = errors.New("there is nothing to break")

// inject breaks things for a while, one after the other or some at once, never the same thing twice at once. When it returns, all
// of them are mended.
func (o *round) inject(ctx context.Context, faults []fault, d time.Duration) error {
	faults = slices.DeleteFunc(faults, func(f fault) bool { return !strings.Contains(f.name, o.only) })
	if len(faults) == 0 {
		return fmt.Errorf("-only %s: no fault of this store has that in its name", o.only)
	}
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	r := rand.New(rand.NewPCG(o.seed, 1))
	broken := make(chan string, len(faults))
	active := map[string]bool{}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for begun := time.Now(); time.Since(begun) < d; {
			if err := meanwhile.Sleep(ctx, min(time.Duration(100+r.IntN(500))*time.Millisecond, d)); err != nil {
				return err
			}
			for len(broken) > 0 {
				delete(active, <-broken)
			}
			f := draw(r, faults, total)
			if active[f.name] {
				continue
			}
			later, err := f.begin(ctx, r)
			if errors.Is(err, errNothing) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			o.count(f.name)
			if later.mend == nil {
				continue
			}
			active[f.name] = true
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_ = meanwhile.Sleep(ctx, later.after) // cut short, it is mended all the same
				if err := later.mend(ctx); err != nil {
					return fmt.Errorf("mend %s: %w", f.name, err)
				}
				broken <- f.name
				return nil
			}, meanwhile.Name(f.name))
		}
		return nil
	}, meanwhile.Name("faults"))
}

func draw(r *rand.Rand, faults []fault, total int) fault {
	n := r.IntN(total)
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	return faults[0]
}

// signalOne is a fault of a process: it gets a signal, and where that stops it another one later.
func signalOne(name string, weight int, s syscall.Signal, lease time.Duration, processes []*process) fault {
	return fault{name, weight, func(_ context.Context, r *rand.Rand) (repair, error) {
		hit, err := processes[r.IntN(len(processes))].signal(s)
		if errors.Is(err, os.ErrProcessDone) {
			return repair{}, errNothing
		}
		if err != nil || s != syscall.SIGSTOP {
			return repair{}, err
		}
		resume := func(context.Context) error {
			if err := hit.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
			return nil
		}
		return repair{lease + lease/5 + time.Duration(r.Int64N(int64(lease))), resume}, nil
	}}
}

func processFaults(lease time.Duration, workers, enqueuers []*process) []fault {
	return []fault{
		signalOne("worker killed", 6, syscall.SIGKILL, lease, workers),
		signalOne("worker stopped past its lease", 3, syscall.SIGSTOP, lease, workers),
		signalOne("worker told to end", 2, syscall.SIGTERM, lease, workers),
		signalOne("enqueuer killed", 2, syscall.SIGKILL, lease, enqueuers),
		signalOne("enqueuer stopped", 1, syscall.SIGSTOP, lease, enqueuers),
	}
}

func diskFaults(d *harm.Disk) []fault {
	fill := func(_ context.Context, r *rand.Rand) (repair, error) {
		free := func(context.Context) error { return d.Free() }
		return repair{time.Duration(500+r.IntN(2500)) * time.Millisecond, free}, d.Fill()
	}
	return []fault{{"disk full", 1, fill}}
}

func serverFaults(s *server, p *harm.Proxy) []fault {
	cut := func(_ context.Context, r *rand.Rand) (repair, error) {
		if p.CutSome(r) == 0 {
			return repair{}, errNothing
		}
		return repair{}, nil
	}
	hold := func(_ context.Context, r *rand.Rand) (repair, error) {
		p.Hold()
		release := func(context.Context) error {
			p.Release()
			return nil
		}
		return repair{time.Duration(500+r.IntN(3000)) * time.Millisecond, release}, nil
	}
	return []fault{
		{"connections cut", 5, cut},
		{"network held up", 2, hold},
		{"server restarted, fast", 1, s.restart("fast")},
		{"server restarted, immediate", 1, s.restart("immediate")},
	}
}

// restart stops the server and starts it again some time later.
func (s *server) restart(mode string) func(context.Context, *rand.Rand) (repair, error) {
	return func(ctx context.Context, r *rand.Rand) (repair, error) {
		if !s.up.CompareAndSwap(true, false) {
			return repair{}, errNothing
		}
		start := func(ctx context.Context) error {
			if ctx.Err() != nil {
				return nil // the program ends: so may the server
			}
			defer s.up.Store(true)
			return s.start(ctx)
		}
		return repair{time.Duration(r.IntN(1500)) * time.Millisecond, start}, s.stop(ctx, mode)
	}
}
