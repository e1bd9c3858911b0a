package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	partCall = 5 * time.Second // bounds a call to one store that the others would have to wait for
	partPing = 2 * time.Second
)

// A part is one of the joined stores, and its state.
type part struct {
	Store
	index int
	name  string

	mu       sync.Mutex
	since    time.Time // since when it has not answered; zero while it answers
	why      error
	failures int       // failed pings in a row
	next     time.Time // when to ping it again

	refused atomic.Int64 // failed calls in a row of a store that answers pings, see refusal
}

// ready returns nil if the store answers. If it did not, and with probe set, one caller pings it again when it is time.
func (p *part) ready(ctx context.Context, probe bool) error {
	p.mu.Lock()
	if p.since.IsZero() {
		p.mu.Unlock()
		return nil
	}
	now := time.Now()
	if !probe || now.Before(p.next) {
		defer p.mu.Unlock()
		return p.absent()
	}
	p.next = now.Add(2 * partPing) // so that no other caller pings it at the same time
	p.mu.Unlock()
	call, cancel := within(ctx, partPing)
	defer cancel()
	if err := p.Ping(call); err != nil {
		if ctx.Err() != nil { // the caller ended the ping, as Wait does when another store wakes it: not a fault of this store
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.absent()
		}
		return p.lost(err)
	}
	p.found()
	return nil
}

// failed decides what an error of a call means: that the store does not answer, or only that the call failed.
func (j *Joined) failed(ctx context.Context, p *part, err error) error {
	switch {
	case j.closed.Load(), errors.Is(err, ErrNotFound), errors.Is(err, ErrNoWorker), errors.Is(err, errWaitOver), errors.Is(ctx.Err(), context.Canceled):
		return err
	}
	// ctx may have ended because the store was slow, so the ping does not use it.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), partPing)
	defer cancel()
	if p.Ping(call) != nil {
		return p.lost(err)
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

// refusal logs an error of a store that answers pings, which no caller sees because other stores answered. It logs the 1st, 2nd, 4th, 8th … in a row.
func (p *part) refusal(err error) {
	if err == nil {
		if p.refused.Load() > 0 {
			p.refused.Store(0)
		}
		return
	}
	if p.health().Err != nil {
		return // it is logged already
	}
	if n := p.refused.Add(1); n&(n-1) == 0 {
		slog.Warn("job: one of the joined stores failed a call; the others have answered it", "store", p.name, "failures", n, "error", err)
	}
}

// lost notes that the store does not answer, and returns an error that names it.
func (p *part) lost(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
		slog.Warn("job: one of the joined stores does not answer; the others go on", "store", p.name, "error", err)
	}
	p.why = err
	p.failures++
	p.next = now.Add(storeBackoff(p.failures))
	return p.absent()
}

// found notes that the store answers again.
func (p *part) found() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.since.IsZero() {
		slog.Info("job: one of the joined stores answers again", "store", p.name, "after", time.Since(p.since))
	}
	p.since, p.why, p.failures = time.Time{}, nil, 0
}

// absent returns the error of a call to a store that does not answer. It wraps nothing, since ErrClosed or ErrSchema of one store would stop a
// worker that can continue with the others. p.mu is held.
func (p *part) absent() error {
	return fmt.Errorf("%s does not answer since %s: %v", p.name, p.since.UTC().Format(time.RFC3339), p.why)
}

func (p *part) health() StoreHealth {
	p.mu.Lock()
	defer p.mu.Unlock()
	return StoreHealth{Name: p.name, Since: p.since, Err: p.why}
}

// within sets a timeout of d, or of half of what ctx leaves if that is less.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, d)
}
