package meanwhile

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Pacer spaces starts evenly in time. [Rate] returns one. As a StreamOption it spaces the starts of a stream's items;
// given to several streams, or asked by [Pacer.Wait] besides, it spaces all of them together. Its methods may be called
// by many goroutines at once.
type Pacer struct {
	mu       sync.Mutex
	interval time.Duration
	last     time.Time // the turn that was given last
}

func (*Pacer) streamOption() {}

// Rate returns a pacer that allows n starts per period, one each per/n, so never more than n+1 in any period; starts that
// nobody asked for are not saved up. It panics unless both are positive.
func Rate(n int, per time.Duration) *Pacer {
	p := new(Pacer)
	p.Set(n, per)
	return p
}

// Set changes the rate. Those who wait already keep their turn.
func (p *Pacer) Set(n int, per time.Duration) {
	if n <= 0 || per <= 0 {
		panic(fmt.Sprintf("meanwhile: Rate(%d, %v): give a positive number and a positive duration", n, per))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interval = (per-1)/time.Duration(n) + 1 // rounded up: what is cut off would add up to more starts than n
}

// Wait returns when it is the caller's turn, callers being served in the order of their calls, or with ctx's error and
// its cause when ctx is canceled first; the turn is then lost.
func (p *Pacer) Wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	turn := now
	if next := p.last.Add(p.interval); next.After(now) {
		turn = next
	}
	p.last = turn
	p.mu.Unlock()
	return Sleep(ctx, turn.Sub(now))
}
