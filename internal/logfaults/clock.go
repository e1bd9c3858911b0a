//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

const short, long = 500 * time.Millisecond, 900 * time.Millisecond // how long a clock is wrong: shorter than it takes until a clock is trusted

// beginWrong lets the first server start with a clock of last year, as may happen on a new machine.
func (s *site) beginWrong() error {
	const name = "server begun with a clock of last year"
	if !strings.Contains(name, s.only) {
		return nil
	}
	s.count(name)
	return s.server.Clock.Jump(-366*24*time.Hour, long)
}

// clockFaults make clocks jump, and back: that of one process, those of all, each by a different amount, or that of a process that is killed at the
// same moment, so that the next one starts with a wrong clock.
func (s *site) clockFaults() []harm.Fault {
	jump := func(p *harm.Process, r *rand.Rand, longest time.Duration) error {
		return p.Clock.Jump(harm.DrawJump(r), time.Duration(100+r.Int64N(longest.Milliseconds()-100))*time.Millisecond)
	}
	restart := func(p *harm.Process, r *rand.Rand) error {
		if err := jump(p, r, long); err != nil {
			return err
		}
		return s.killNow(p)
	}
	fault := func(name string, weight int, begin func(*rand.Rand) error) harm.Fault {
		return harm.Fault{Name: name, Weight: weight, Inject: func(_ context.Context, r *rand.Rand) (harm.Repair, error) {
			return harm.Repair{}, begin(r)
		}}
	}
	return []harm.Fault{
		fault("clock of the server jumps", 3, func(r *rand.Rand) error { return jump(s.server, r, short) }),
		fault("clock of a client jumps", 3, func(r *rand.Rand) error { return jump(s.anyClient(r), r, short) }),
		fault("clocks of all jump", 1, func(r *rand.Rand) error {
			for _, p := range append([]*harm.Process{s.server}, s.clients...) {
				if err := jump(p, r, short); err != nil && !errors.Is(err, harm.ErrNothing) {
					return err
				}
			}
			return nil
		}),
		fault("clock of the server jumps, and it is killed", 1, func(r *rand.Rand) error { return restart(s.server, r) }),
		fault("clock of a client jumps, and it is killed", 1, func(r *rand.Rand) error { return restart(s.anyClient(r), r) }),
	}
}
