//go:build unix

package harm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Proxy is between the processes and a server, and cuts or holds up their connections.
type Proxy struct {
	listener net.Listener
	upstream string

	mu      sync.Mutex
	links   map[*link]struct{}
	resumed chan struct{} // closed when held data may be forwarded; nil if nothing is held up
}

// A link is a connection through the proxy.
type link struct{ client, server *net.TCPConn }

// NewProxy returns a proxy for the server at the address upstream. It listens on a port of its own.
func NewProxy(upstream string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return &Proxy{listener: l, upstream: upstream, links: map[*link]struct{}{}}, nil
}

// Port returns the port that the proxy listens on.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Serve forwards connections until ctx is canceled.
func (p *Proxy) Serve(ctx context.Context) error {
	unhook := context.AfterFunc(ctx, func() {
		p.listener.Close()
		p.cut(func() bool { return true }, false)
	})
	defer unhook()
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		for {
			c, err := p.listener.Accept()
			if err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return fmt.Errorf("proxy: %w", err)
			}
			meanwhile.Go(ctx, func(ctx context.Context) error {
				p.pass(ctx, c.(*net.TCPConn))
				return nil
			}, meanwhile.Name("link"))
		}
	}, meanwhile.Name("proxy"))
}

// pass forwards data in both directions of a connection until one end closes it.
func (p *Proxy) pass(ctx context.Context, client *net.TCPConn) {
	defer client.Close()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", p.upstream)
	if err != nil {
		return
	}
	k := &link{client: client, server: c.(*net.TCPConn)}
	defer c.Close()
	p.mu.Lock()
	p.links[k] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, k)
		p.mu.Unlock()
	}()
	if ctx.Err() != nil {
		return
	}
	_ = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return p.copy(ctx, k, k.client, k.server) }, meanwhile.Name("requests"))
		return p.copy(ctx, k, k.server, k.client)
	})
}

// copy forwards one direction. When it returns, the connection is closed.
func (p *Proxy) copy(ctx context.Context, k *link, from, to *net.TCPConn) error {
	defer k.client.Close()
	defer k.server.Close()
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if n > 0 {
			if err := p.free(ctx); err != nil {
				return err
			}
			if _, err := to.Write(part[:n]); err != nil {
				return nil
			}
		}
		if err != nil {
			return nil // closed or cut, which makes no difference here
		}
	}
}

// free waits while the traffic is held up.
func (p *Proxy) free(ctx context.Context) error {
	p.mu.Lock()
	held := p.resumed
	p.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Hold holds up all data, in both directions, until Release.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed == nil {
		p.resumed = make(chan struct{})
	}
}

// Release forwards what was held up.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed != nil {
		close(p.resumed)
		p.resumed = nil
	}
}

// CutSome closes about a third of the connections, either in order or with a reset, and returns how many.
func (p *Proxy) CutSome(r *rand.Rand) int {
	return p.cut(func() bool { return r.IntN(3) == 0 }, r.IntN(2) == 0)
}

// Faults returns two faults: some connections are cut, and all traffic is held up.
func (p *Proxy) Faults() []Fault {
	return []Fault{
		{Name: "connections cut", Weight: 4, Inject: func(_ context.Context, r *rand.Rand) (Repair, error) {
			if p.CutSome(r) == 0 {
				return Repair{}, ErrNothing
			}
			return Repair{}, nil
		}},
		{Name: "network held up", Weight: 2, Inject: func(_ context.Context, r *rand.Rand) (Repair, error) {
			p.Hold()
			release := func(context.Context) error { p.Release(); return nil }
			return Repair{After: time.Duration(500+r.IntN(2500)) * time.Millisecond, Undo: release}, nil
		}},
	}
}

func (p *Proxy) cut(which func() bool, reset bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for k := range p.links {
		if !which() {
			continue
		}
		n++
		for _, c := range []*net.TCPConn{k.client, k.server} {
			if reset {
				_ = c.SetLinger(0)
			}
			_ = c.Close()
		}
	}
	return n
}
