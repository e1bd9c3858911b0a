package fetch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	lookAhead = 1024   // transfers that wait for a slot of their hosts
	maxIdle   = 10_000 // idle hosts that are remembered
)

// hosts enforces the limits per host. A host is kept while it has running or waiting transfers, and as long as its rate would
// delay the next transfer. If there are too many that are kept only for their rate, the oldest is dropped.
type hosts struct {
	places int  // 0 means no limit
	rate   rate // zero means no limit

	mu    sync.Mutex
	hosts map[string]*host
	idle  list.List // of *host, in the order in which they became idle
}

type host struct {
	name   string
	places *meanwhile.Semaphore
	pacer  *meanwhile.Pacer

	// Guarded by hosts.mu.
	users   int
	left    time.Time
	element *list.Element // in idle
}

// newHosts returns nil if there are no limits.
func newHosts(places int, r rate) *hosts {
	if places == 0 && r.n == 0 {
		return nil
	}
	return &hosts{places: places, rate: r, hosts: make(map[string]*host)}
}

// stream returns a stream of the transfers that have a slot of their host, in the order in which they got it.
func (h *hosts) stream(ctx context.Context, in meanwhile.Stream[*transfer]) meanwhile.Stream[*transfer] {
	return meanwhile.Map(ctx, in, h.enter,
		meanwhile.Name("line"), meanwhile.Limit(lookAhead), meanwhile.Window(lookAhead), meanwhile.Unordered())
}

// enter waits for a slot of the transfer's host. If it returns nil, call leave afterwards.
func (h *hosts) enter(ctx context.Context, t *transfer) (*transfer, error) {
	at := h.find(hostOf(t.url))
	if at.places != nil {
		if err := at.places.Acquire(ctx, 1); err != nil {
			h.forget(at)
			return nil, err
		}
	}
	t.slot = at
	if err := at.pace(ctx); err != nil {
		h.leave(t)
		return nil, err
	}
	return t, nil
}

// leave releases the slot of a transfer, if it has one.
func (h *hosts) leave(t *transfer) {
	at := t.slot
	if at == nil {
		return
	}
	t.slot = nil
	if at.places != nil {
		at.places.Release(1)
	}
	h.forget(at)
}

// pace waits until the rate of the host allows the transfer. A nil host has no rate.
func (at *host) pace(ctx context.Context) error {
	if at == nil || at.pacer == nil {
		return nil
	}
	return at.pacer.Wait(ctx)
}

func (h *hosts) find(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.hosts[name]
	if at == nil {
		at = &host{name: name, pacer: h.rate.pacer()}
		if h.places > 0 {
			at.places = meanwhile.NewSemaphore(h.places)
		}
		h.hosts[name] = at
	}
	if at.element != nil {
		h.idle.Remove(at.element)
		at.element = nil
	}
	at.users++
	return at
}

// forget ends one use of a host, and drops hosts that are not needed any more.
func (h *hosts) forget(at *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at.users--
	if at.users > 0 {
		return
	}
	at.left = time.Now()
	at.element = h.idle.PushBack(at)
	var keep time.Duration
	if h.rate.n > 0 {
		keep = h.rate.per / time.Duration(h.rate.n)
	}
	for front := h.idle.Front(); front != nil; front = h.idle.Front() {
		oldest := front.Value.(*host)
		if h.idle.Len() <= maxIdle && time.Since(oldest.left) < keep {
			return
		}
		h.idle.Remove(front)
		delete(h.hosts, oldest.name)
	}
}
