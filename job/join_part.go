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
	partCall = 5 * time.Second // bounds a call to one store that the others would wait for
	partPing = 2 * time.Second
)

// A part is one of the stores that were joined, and what is known of it.
type part struct {
	Store
	index int
	name  string

	mu       sync.Mutex
	since    time.Time // it does not answer since then; zero while it does
	why      error
	failures int       // pings in a row that failed
	next     time.Time // when it is asked again

	refused atomic.Int64 // calls in a row that failed although it answers, see refusal
}

// ready returns nil while the store answers. When it does not, and it is time to ask again, one caller does if probe is set.
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
	p.next = now.Add(2 * partPing) // others do not ask meanwhile
	p.mu.Unlock()
	call, cancel := within(ctx, partPing)
	defer cancel()
	if err := p.Ping(call); err != nil {
		if ctx.Err() != nil { // the caller has ended it, as Wait does when another store wakes it: that says nothing of this one
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.absent()
		}
		return p.lost(err)
	}
	p.found()
	return nil
}

// failed says what an error of a call means: the store does not answer, or it is an error of that call.
func (j *Joined) failed(ctx context.Context, p *part, err error) error {
	switch {
	case j.closed.Load(), errors.Is(err, ErrNotFound), errors.Is(err, ErrNoWorker), errors.Is(err, errWaitOver), errors.Is(ctx.Err(), context.Canceled):
		return err
	}
	// ctx may have ended because of the store: it is asked all the same.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), partPing)
	defer cancel()
	if p.Ping(call) != nil {
		return p.lost(err)
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

// refusal reports an error that no caller gets since other stores have answered, of a store that answers pings: the nth in a row when n is a power of two.
func (p *part) refusal(err error) {
	if err == nil {
		if p.refused.Load() > 0 {
			p.refused.Store(0)
		}
		return
	}
	if p.health().Err != nil {
		return // which was reported
	}
	if n := p.refused.Add(1); n&(n-1) == 0 {
		slog.Warn("job: one of the joined stores failed a call; the others have answered it", "store", p.name, "failures", n, "error", err)
	}
}

// lost notes that the store does not answer, and returns the error that names it.
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

// absent is the error of a call to a store that does not answer. It wraps nothing: ErrClosed or ErrSchema of one store would stop a worker that
// goes on with the others. p.mu is held.
func (p *part) absent() error {
	return fmt.Errorf("%s does not answer since %s: %v", p.name, p.since.UTC().Format(time.RFC3339), p.why)
}

func (p *part) health() StoreHealth {
	p.mu.Lock()
	defer p.mu.Unlock()
	return StoreHealth{Name: p.name, Since: p.since, Err: p.why}
}

// within bounds ctx by d, or by half of what it leaves if that is less.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, d)
}
