//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

// inject injects faults for a while. When it returns, all of them are undone.
func (o *round) inject(ctx context.Context, faults []harm.Fault, d time.Duration) error {
	faults = slices.DeleteFunc(faults, func(f harm.Fault) bool { return !strings.Contains(f.Name, o.only) })
	if len(faults) == 0 {
		return fmt.Errorf("-only %s: no fault of this store has that in its name", o.only)
	}
	return harm.Break(ctx, rand.New(rand.NewPCG(o.seed, 1)), faults, d, 350*time.Millisecond, o.count)
}

// signalOne returns a fault that sends a signal to one of the processes. A process that this stops is resumed later, after its leases have expired.
func signalOne(name string, weight int, s syscall.Signal, lease time.Duration, processes []*harm.Process) harm.Fault {
	return harm.Fault{Name: name, Weight: weight, Inject: func(_ context.Context, r *rand.Rand) (harm.Repair, error) {
		p := processes[r.IntN(len(processes))]
		err := p.Signal(s)
		if err != nil || s != syscall.SIGSTOP {
			return harm.Repair{}, err
		}
		resume := func(context.Context) error { return p.Signal(syscall.SIGCONT) }
		return harm.Repair{After: lease + lease/5 + time.Duration(r.Int64N(int64(lease))), Undo: resume}, nil
	}}
}

func processFaults(lease time.Duration, workers, enqueuers []*harm.Process) []harm.Fault {
	return []harm.Fault{
		signalOne("worker killed", 6, syscall.SIGKILL, lease, workers),
		signalOne("worker stopped past its lease", 3, syscall.SIGSTOP, lease, workers),
		signalOne("worker told to end", 2, syscall.SIGTERM, lease, workers),
		signalOne("enqueuer killed", 2, syscall.SIGKILL, lease, enqueuers),
		signalOne("enqueuer stopped", 1, syscall.SIGSTOP, lease, enqueuers),
	}
}

// clockFaults make the clock of a process jump, and back after up to about three leases. The clock of the store stays correct.
func clockFaults(lease time.Duration, workers, enqueuers []*harm.Process) []harm.Fault {
	fault := func(name string, weight int, kill bool, processes []*harm.Process) harm.Fault {
		return harm.Fault{Name: name, Weight: weight, Inject: func(_ context.Context, r *rand.Rand) (harm.Repair, error) {
			p := processes[r.IntN(len(processes))]
			err := p.Clock.Jump(harm.DrawJump(r), lease/10+time.Duration(r.Int64N(int64(3*lease))))
			if err == nil && kill {
				err = p.Signal(syscall.SIGKILL)
			}
			return harm.Repair{}, err
		}}
	}
	return []harm.Fault{
		fault("clock of a worker jumps", 3, false, workers),
		fault("clock of a worker jumps, and it is killed", 1, true, workers),
		fault("clock of an enqueuer jumps", 2, false, enqueuers),
		fault("clock of an enqueuer jumps, and it is killed", 1, true, enqueuers),
	}
}

func serverFaults(s *server) []harm.Fault {
	return []harm.Fault{
		{Name: "server restarted, fast", Weight: 1, Inject: s.restart("fast")},
		{Name: "server restarted, immediate", Weight: 1, Inject: s.restart("immediate")},
	}
}

// restart stops the server and starts it again some time later.
func (s *server) restart(mode string) func(context.Context, *rand.Rand) (harm.Repair, error) {
	return func(ctx context.Context, r *rand.Rand) (harm.Repair, error) {
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
		return harm.Repair{After: time.Duration(r.IntN(1500)) * time.Millisecond, Undo: start}, s.stop(ctx, mode)
	}
}
