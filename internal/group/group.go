// Package group merges the calls of many callers (group commit): calls that arrive during a commit share the next one.
package group

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// A Group flushes the inputs of its callers in batches. It starts no goroutine, unless [Group.Detach] was called: one of the callers is the leader,
// which runs the flush for the others. It may be used by many goroutines at once.
type Group[In, Out any] struct {
	flush         func(ctx context.Context, in []In) ([]Out, error)
	max, parallel int
	most          time.Duration // the longest time that a leader waits for others, see Gather
	detached      bool          // see Detach

	mu      sync.Mutex
	waiting []*call[In, Out] // oldest first
	leading int              // callers that lead, or were asked to
	last    int              // how many calls the last flush had, plus those that waited when it ended
	took    time.Duration    // how long the last flush took
	wanted  int              // how many calls a leader waits for; 0 for none
	there   chan struct{}    // closed when they have arrived
}

// A call is one call of Do. Until its flush starts, its fields but wake are guarded by the mutex of the group; then they belong to its leader until
// it is done.
type call[In, Out any] struct {
	in    In
	out   Out
	err   error
	phase phase
	wake  chan bool // receives true if the call is to lead, or false if it is done
}

// A phase is how far a call is:
//
//	waits → leads → done     its caller runs the flush
//	waits → flushed → done   another caller does
type phase int

const (
	waits phase = iota
	leads
	flushed
	done
)

// New returns a group that passes at most maximum calls to one flush and runs at most parallel flushes at once; both are at least one. flush returns
// a result for each input, in order, or an error for all. Its ctx has the values of the ctx of the leader. Unless [Group.Detach] says otherwise, that
// ctx is never canceled and has no deadline, so flush must bound its own time.
func New[In, Out any](maximum, parallel int, flush func(ctx context.Context, in []In) ([]Out, error)) *Group[In, Out] {
	return &Group[In, Out]{flush: flush, max: max(maximum, 1), parallel: max(parallel, 1)}
}

// Gather makes a leader wait until there are as many calls as there were during the last flush, but at most for d and for a quarter of the time that
// the last flush took. It is for flushes whose cost hardly depends on the number of calls, and for callers that call again as soon as they return:
// without it, the first of them would lead a flush of its own, and the others the next one. A single caller does not wait. Call it before Do.
func (g *Group[In, Out]) Gather(d time.Duration) { g.most = d }

// Detach makes a leader return when its ctx is canceled, as other callers do. A flush of several calls then runs in a goroutine of its own; a flush
// of the leader's call alone gets the leader's ctx. A panic of a flush becomes an error. It is for flushes that may take long, such as those over a
// network. Call it before Do.
func (g *Group[In, Out]) Detach() { g.detached = true }

// Do passes in to a flush and returns its result. Callers wait while as many flushes as allowed are running, so the memory is bounded by their
// inputs.
//
// If ctx is canceled before the flush has started, in is left out, and Do returns ctx's error. If it is canceled later, Do returns ctx's error, which
// says that the outcome is open. A leader returns only when its flush has ended, unless flushes are detached.
func (g *Group[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	c := &call[In, Out]{in: in}
	if err := ctx.Err(); err != nil {
		return c.out, ctxError(ctx)
	}
	g.mu.Lock()
	if g.leading < g.parallel && len(g.waiting) == 0 {
		g.leading++
		c.phase = leads
		g.waiting = append(g.waiting, c)
		g.mu.Unlock()
		return g.leadAndReturn(ctx, c)
	}
	c.wake = make(chan bool, 1)
	g.waiting = append(g.waiting, c)
	if g.wanted > 0 && len(g.waiting) >= g.wanted {
		close(g.there)
		g.wanted = 0
	}
	g.mu.Unlock()
	select {
	case isLeader := <-c.wake:
		if isLeader {
			return g.leadAndReturn(ctx, c)
		}
	case <-ctx.Done():
		switch g.leave(c) {
		case waits, leads:
			return c.out, ctxError(ctx)
		case flushed:
			return open[Out](ctx)
		}
	}
	return c.out, c.err
}

// open is returned for a call whose flush has not ended.
func open[Out any](ctx context.Context) (out Out, err error) {
	return out, fmt.Errorf("it was being written, the outcome is open: %w", ctxError(ctx))
}

// leadAndReturn leads. It returns when the flush has ended or, if flushes are detached, when ctx is canceled.
func (g *Group[In, Out]) leadAndReturn(ctx context.Context, c *call[In, Out]) (Out, error) {
	g.gather()
	calls := g.collect(c)
	switch {
	case !g.detached || ctx.Done() == nil:
		g.lead(context.WithoutCancel(ctx), c, calls)
		return c.out, c.err
	case len(calls) == 1: // the flush is canceled with its only call, and needs no goroutine
		g.lead(ctx, c, calls)
		if c.err != nil && ctx.Err() != nil {
			return open[Out](ctx)
		}
		return c.out, c.err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.lead(context.WithoutCancel(ctx), c, calls)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		default:
			return open[Out](ctx)
		}
	}
	return c.out, c.err
}

// lead flushes calls, the leader's among them, and then hands over to another leader.
func (g *Group[In, Out]) lead(ctx context.Context, leader *call[In, Out], calls []*call[In, Out]) {
	begun := time.Now()
	err := errPanicked
	var out []Out
	defer func() {
		if err == nil && len(out) != len(calls) {
			err = fmt.Errorf("group: %d results for %d calls", len(out), len(calls))
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.leading--
		g.last, g.took = min(len(calls)+len(g.waiting), g.max), time.Since(begun)
		g.handOver()
		for i, c := range calls {
			if c.phase, c.err = done, err; err == nil {
				c.out = out[i]
			}
			if c != leader {
				c.wake <- false
			}
		}
	}()
	in := make([]In, len(calls))
	for i, c := range calls {
		in[i] = c.in
	}
	if g.detached {
		out, err = g.recovered(ctx, in)
		return
	}
	out, err = g.flush(ctx, in)
}

// recovered is flush with a panic turned into an error for all of its calls: the leader may have returned.
func (g *Group[In, Out]) recovered(ctx context.Context, in []In) (out []Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("%w: %v\n\n%s", errPanicked, p, debug.Stack())
		}
	}()
	return g.flush(ctx, in)
}

// errPanicked is the error of the other callers if the flush panics. The leader panics, or if flushes are detached, all get an error with the panic.
var errPanicked = errors.New("the flush panicked, the outcome is open")

// gather waits until there are as many calls as there were during the last flush.
func (g *Group[In, Out]) gather() {
	g.mu.Lock()
	d := min(g.took/4, g.most)
	if d <= 0 || g.wanted > 0 || len(g.waiting) >= g.last {
		g.mu.Unlock()
		return
	}
	there := make(chan struct{})
	g.wanted, g.there = g.last, there
	g.mu.Unlock()
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-there:
	case <-over.C:
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.there == there {
			g.wanted = 0
		}
	}
}

// collect removes the calls to flush from those that wait: the leader's, and the oldest of the others.
func (g *Group[In, Out]) collect(leader *call[In, Out]) []*call[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := make([]*call[In, Out], 0, min(len(g.waiting), g.max))
	calls = append(calls, leader)
	rest := g.waiting[:0]
	for _, c := range g.waiting {
		switch {
		case c == leader:
		case c.phase == waits && len(calls) < g.max:
			c.phase = flushed
			calls = append(calls, c)
		default:
			rest = append(rest, c)
		}
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	g.handOver()
	return calls
}

// handOver asks the caller that has waited longest to lead, if there may be one more leader.
func (g *Group[In, Out]) handOver() {
	if g.leading >= g.parallel {
		return
	}
	for _, c := range g.waiting {
		if c.phase == waits {
			g.leading++
			c.phase = leads
			c.wake <- true
			return
		}
	}
}

// leave removes a call if its flush has not started, and returns how far the call was.
func (g *Group[In, Out]) leave(c *call[In, Out]) phase {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.phase == waits || c.phase == leads {
		g.waiting = slices.DeleteFunc(g.waiting, func(w *call[In, Out]) bool { return w == c })
	}
	if c.phase == leads {
		g.leading--
		g.handOver()
	}
	return c.phase
}

func ctxError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
