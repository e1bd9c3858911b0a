package meanwhile

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Pacer is a rate limit that spaces starts evenly in time. [Rate] returns one. As a StreamOption it spaces the starts of a
// stream's items, and with [Retry] all their attempts; given to several streams, or also used with [Pacer.Wait], it spaces
// all of them together. Its methods may be called concurrently.
type Pacer struct {
	mu       sync.Mutex
	interval time.Duration
	last     time.Time // the last start that was allowed
	waiting  list.List // of *pacerWait, oldest first
	timer    *time.Timer
}

// A pacerWait is a goroutine that waits for its turn at a pacer.
type pacerWait struct {
	scope.BlockedWait
	p     *Pacer
	asked time.Time
	given bool // guarded by p.mu
}

func (*pacerWait) Kind() scope.WaiterKind { return scope.ForTime }

func (*Pacer) streamOption() {}

// Rate returns a pacer that allows n starts per period, one every per/n, so never more than n+1 in any period; unused starts
// are not saved up. Starts that come late because the program was suspended or busy are made up for only as far as that
// holds, or, if per/n is short, within 10 milliseconds. It panics unless both are positive.
func Rate(n int, per time.Duration) *Pacer {
	p := new(Pacer)
	p.Set(n, per)
	return p
}

// Set changes the rate, also for callers that are already waiting.
func (p *Pacer) Set(n int, per time.Duration) {
	if n <= 0 || per <= 0 {
		panic(fmt.Sprintf("meanwhile: Rate(%d, %v): give a positive number and a positive duration", n, per))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interval = (per-1)/time.Duration(n) + 1 // rounded up: rounded down, the fractions would add up to more starts than n
	if p.waiting.Len() == 0 {
		return
	}
	now := time.Now()
	if due := p.last.Add(p.interval); due.Before(now) {
		p.last = now.Add(-p.interval) // starts that the old rate delayed are not made up for
	}
	p.give(now)
}

// Wait returns when it is the caller's turn, in the order of the calls, or with ctx's error and its cause when ctx is
// canceled first; later callers then move up. If the turn would come after the deadline of ctx, Wait immediately returns an
// error that says so and that errors.Is matches with context.DeadlineExceeded.
func (p *Pacer) Wait(ctx context.Context) error { return p.wait(ctx, true) }

// wait is Wait. With refuse, it does not wait for a turn that would come after the deadline of ctx.
func (p *Pacer) wait(ctx context.Context, refuse bool) error {
	if err := scope.CtxError(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	now := time.Now()
	if p.waiting.Len() == 0 && !p.last.Add(p.interval).After(now) {
		p.last = now
		p.mu.Unlock()
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && refuse {
		if turn := p.startTime(p.waiting.Len()); !turn.Before(deadline) {
			p.mu.Unlock()
			return fmt.Errorf("rate: the turn comes in %v, the deadline of ctx in %v: %w",
				turn.Sub(now), deadline.Sub(now), context.DeadlineExceeded)
		}
	}
	w := &pacerWait{p: p, asked: now}
	w.Ready()
	place := p.waiting.PushBack(w)
	p.give(now)
	p.mu.Unlock()

	w.Block(ctx, w)
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.given {
		return nil
	}
	p.waiting.Remove(place)
	p.give(time.Now())
	return scope.CtxError(ctx)
}

// startTime returns the turn of a waiter that has the given number of waiters before it.
func (p *Pacer) startTime(before int) time.Time {
	wait := float64(p.interval) * float64(before+1)
	return p.last.Add(time.Duration(min(wait, float64(scope.Forever))))
}

// madeUp bounds how much of a delay is made up for, which timers cause all the time: without that, short intervals would become longer.
const madeUp = 10 * time.Millisecond

// give wakes the waiters whose turn has come, and sets the timer for the next one.
func (p *Pacer) give(now time.Time) {
	for place := p.waiting.Front(); place != nil; place = p.waiting.Front() {
		turn := p.startTime(0)
		if turn.After(now) {
			p.alarm(turn.Sub(now))
			return
		}
		w := place.Value.(*pacerWait)
		for _, earliest := range []time.Time{w.asked, now.Add(-max(p.interval/2, madeUp))} {
			if turn.Before(earliest) {
				turn = earliest
			}
		}
		p.last, w.given = turn, true
		p.waiting.Remove(place)
		w.Wake()
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil // the next timer may be created in another synctest bubble
	}
}

func (p *Pacer) alarm(d time.Duration) {
	if p.timer != nil {
		p.timer.Reset(d)
		return
	}
	p.timer = time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.give(time.Now())
	})
}

// maxShown is the number of waiters, the first in the queue, for which Until returns a turn: counting the waiters before one
// takes time.
const maxShown = 100

// Until returns the turn of w, or zero if w has had it or maxShown or more waiters are before it.
func (w *pacerWait) Until() time.Time {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	place := w.p.waiting.Front()
	for before := 0; place != nil && before < maxShown; before++ {
		if place.Value == w {
			return w.p.startTime(before)
		}
		place = place.Next()
	}
	return time.Time{}
}
