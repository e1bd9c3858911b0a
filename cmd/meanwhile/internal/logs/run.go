package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
	"github.com/meanwhile-go/meanwhile/process"
)

// serve serves until ctx is canceled, or another program has replaced this one.
func (p *plan) serve(ctx context.Context) error {
	r, err := newReplacer(p)
	if err != nil {
		return err
	}
	defer r.close()
	handover, err := r.inherited()
	if err != nil {
		return err
	}
	process.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
		server := p.running.Load()
		switch {
		case server == nil: // it is starting, or is being replaced
		case sig == replaceSignal:
			r.ask()
			server.HandOver()
		default:
			p.again(server)
		}
		return nil
	}, reopenSignal, replaceSignal)
	for {
		if handover, err = p.once(ctx, r, handover); err != nil || ctx.Err() != nil || !r.asked() {
			return err
		}
		if err = r.replace(ctx, handover); err == nil {
			return nil
		}
		p.logger.Error("logs: the program was not replaced; this process continues", "error", err)
	}
}

// once serves until ctx is canceled or the program is to be replaced. In the latter case it returns the open connections.
func (p *plan) once(ctx context.Context, r *replacer, resume []server.HandoverConn) (handover []server.HandoverConn, err error) {
	var store storage.Store
	err = meanwhile.Run(ctx, func(ctx context.Context) (err error) {
		if store, err = p.open(ctx); err != nil {
			return err
		}
		server, err := p.run(ctx, store, server.Config{
			Listen: r.listen, ListenPacket: r.listenPacket, Ready: r.ready, Resume: resume,
			Stopping: func() { p.logger.Info("logs: stopping") }, // Main prints the tasks that do not end
		})
		if server != nil {
			handover = server.HandoverConns()
		}
		return err
	}, meanwhile.Name("serve"))
	return handover, errors.Join(err, closeStore(store)) // nothing uses it any more
}

// open opens the store if a route leads to it.
func (p *plan) open(ctx context.Context) (storage.Store, error) {
	if !p.stores() {
		return nil, nil
	}
	store, err := segment.Open(ctx, p.Dir, segment.Config{
		Sync: segmentSync[p.Sync], SyncEvery: p.Interval, Logger: p.logger,
		Retention: segment.Retention{Age: unlessZero(p.keepAge)}, Services: p.routes.keep, Bytes: unlessZero(p.keepSize),
	})
	if err != nil {
		return nil, fmt.Errorf("--dir %s: %w", p.Dir, err)
	}
	return store, nil
}

var segmentSync = map[string]segment.Sync{"always": segment.Always, "interval": segment.Interval, "os": segment.OS}

// unlessZero returns the limit, or -1, which means no limit, for zero.
func unlessZero[T time.Duration | int64](bound T) T {
	if bound == 0 {
		return -1
	}
	return bound
}

func closeStore(store storage.Store) error {
	if store == nil {
		return nil
	}
	return store.Close()
}

// run runs a server until ctx is canceled, or it has to hand over its connections.
func (p *plan) run(ctx context.Context, store storage.Store, c server.Config) (*server.Server, error) {
	server, err := p.server(store, c)
	if err != nil {
		return nil, err
	}
	for _, text := range p.warnings {
		p.logger.Warn("logs: " + text)
	}
	if err := p.forwardAll(ctx, store); err != nil {
		return nil, err
	}
	webhooks := meanwhile.Go(ctx, p.webhooks.run, meanwhile.InBackground(), meanwhile.Name("webhooks"))
	p.running.Store(server)
	defer p.running.Store(nil)
	if err = server.Run(ctx); errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: stop what listens there, or give another address", err)
	}
	webhooks.Cancel(nil)
	<-webhooks.Done()
	p.webhooks.finish(ctx) // also those of the last records
	return server, err
}

// server returns a server for the settings; c has the settings of its caller.
func (p *plan) server(store storage.Store, c server.Config) (*server.Server, error) {
	var srv *server.Server
	var sessions *server.Sessions
	listeners := append([]server.Listener(nil), p.listeners...)
	for i := range listeners {
		switch l := &listeners[i]; l.Name {
		case nameListen:
			l.Serve = func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
				return sessions.Serve(ctx, conn, state)
			}
		case nameHTTP:
			handler, err := p.handler(store, func() *server.Server { return srv })
			if err != nil {
				return nil, err
			}
			l.Handler = handler
		}
	}
	routes := cmp.Or(p.changed.Load(), &p.routes)
	c.Store, c.Routes, c.Limits, c.Redact, c.Listeners = store, routes.routes, routes.limits, routes.redact, listeners
	c.Alerts = p.webhooks.of(routes.alerts)
	c.Sync, c.Interval, c.SyncEvery, c.MaxRecord, c.MaxConns = linefile.Sync(p.Sync), p.Interval, p.syncEvery, p.MaxRecord, p.MaxConns
	c.Grace, c.Logger, c.Journal = p.Grace, p.logger, filepath.Join(p.Dir, "lines")
	srv, err := server.New(c)
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	var keys []string
	if key, err := p.keyOf(nameListen); err != nil {
		return nil, err
	} else if key != "" {
		keys = []string{key}
	}
	sessions = server.NewSessions(srv.Acceptor(), server.SessionConfig{Keys: keys, Grace: p.Grace})
	return srv, nil
}

// again handles HUP: files are reopened, and settings that can change are read again. If they are invalid, nothing changes.
func (p *plan) again(server *server.Server) {
	server.Reopen()
	if p.certificate != nil {
		p.certificate.Reread()
	}
	routes, err := p.reread()
	if err == nil {
		err = server.SetRoutes(routes.routes, routes.limits, routes.redact, p.webhooks.of(routes.alerts))
	}
	if err != nil {
		p.logger.Error("logs: the settings cannot be reloaded; the previous ones stay in effect", "error", err)
		return
	}
	p.changed.Store(routes)
	p.logger.Info("logs: files were reopened; routes, limits, redactions and alerts were reloaded")
}
