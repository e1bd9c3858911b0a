//go:build unix

package harm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Fault is something to break at random times.
type Fault struct {
	Name   string
	Weight int // how often it is drawn, relative to the other faults
	Inject func(ctx context.Context, r *rand.Rand) (Repair, error)
}

// A Repair undoes a fault after some time. The zero value is for a fault that need not be undone.
type Repair struct {
	After time.Duration
	Undo  func(ctx context.Context) error
}

// ErrNothing is the error of a fault that found nothing to break. [os.ErrProcessDone] means the same.
var ErrNothing = errors.New("there is nothing to break")

// Break injects faults for a while, one after the other or several at once, but never the same fault twice at once. pause is the average time between
// two faults. It calls count with the name of each injected fault. When it returns, all faults are undone.
func Break(ctx context.Context, r *rand.Rand, faults []Fault, length, pause time.Duration, count func(name string)) error {
	repaired := make(chan string, len(faults))
	active := map[string]bool{}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for begun := time.Now(); time.Since(begun) < length; {
			if err := meanwhile.Sleep(ctx, min(pause/3+time.Duration(r.Int64N(int64(4*pause/3))), length)); err != nil {
				return err
			}
			for len(repaired) > 0 {
				delete(active, <-repaired)
			}
			f := draw(r, faults)
			if f == nil || active[f.Name] {
				continue
			}
			repair, err := f.Inject(ctx, r)
			if nothing(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			count(f.Name)
			if repair.Undo == nil {
				continue
			}
			active[f.Name] = true
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_ = meanwhile.Sleep(ctx, repair.After) // if this is canceled, the fault is undone at once
				if err := repair.Undo(ctx); err != nil && !nothing(err) {
					return fmt.Errorf("mend %s: %w", f.Name, err)
				}
				repaired <- f.Name
				return nil
			}, meanwhile.Name(f.Name))
		}
		return nil
	}, meanwhile.Name("faults"))
}

func nothing(err error) bool { return errors.Is(err, ErrNothing) || errors.Is(err, os.ErrProcessDone) }

// draw draws a fault by weight, or nil if there are none.
func draw(r *rand.Rand, faults []Fault) *Fault {
	total := 0
	for i := range faults {
		total += faults[i].Weight
	}
	if total == 0 {
		return nil
	}
	n := r.IntN(total)
	for i := range faults {
		if n -= faults[i].Weight; n < 0 {
			return &faults[i]
		}
	}
	return nil
}
