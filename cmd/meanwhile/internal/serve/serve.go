package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/detach"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs/storage"
	"github.com/meanwhile-go/meanwhile/metrics"
	"github.com/meanwhile-go/meanwhile/process"
)

// Time limits of all requests; streams set their own deadlines.
const (
	headerTime  = 10 * time.Second
	requestTime = time.Minute
	idleTime    = 2 * time.Minute
	mostHeader  = 32 << 10

	stopTime   = 5 * time.Second // the same as the grace period of a worker
	streamTime = time.Second     // after this part of stopTime the ctx of remaining requests is canceled
	closeTime  = 15 * time.Second
)

// serve serves until ctx is canceled.
func (p *plan) serve(ctx context.Context) (err error) {
	listener, err := listenOn(p.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	var clients net.Listener // for clients of Faktory
	if p.faktory.address != "" {
		if clients, err = listenOn(p.faktory.address); err != nil {
			return err
		}
		defer clients.Close()
	}
	store, err := p.Target.Open(ctx, true)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("store %s: %w", &p.Target, closeErr)
		}
	}()
	if p.records != nil {
		defer func() { _ = p.records.Close() }()
	}
	if err := p.await(ctx, store); err != nil {
		return err
	}
	err = meanwhile.Run(ctx, func(ctx context.Context) error { return p.run(ctx, listener, clients, store) }, meanwhile.Name("serve"))
	if p.gathers != nil {
		err = errors.Join(err, p.gathers.Close()) // nothing uses its store any more
	}
	return err
}

func listenOn(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err
		}
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}

// run starts the parts. If one fails, the others are stopped. clients is nil if clients of Faktory are not served.
func (p *plan) run(ctx context.Context, listener, clients net.Listener, store job.Store) error {
	finder, err := p.finder(ctx, store)
	if err != nil {
		return err
	}
	m := metrics.New(metrics.Config{Store: store})
	handler, worker, stop := p.parts(store, finder, m)
	if worker != nil {
		meanwhile.Go(ctx, worker.Run, meanwhile.Name("worker"))
	}
	process.OnSignal(ctx, func(context.Context, os.Signal) error {
		if p.certificate != nil {
			p.certificate.Reread()
		}
		if p.gathers != nil {
			p.gathers.Reread()
		}
		return nil
	}, syscall.SIGHUP)
	if p.exposed() {
		p.logger.Warn("serve: " + exposedText)
	}
	if clients != nil {
		if err := p.serveFaktory(ctx, clients, store, m); err != nil {
			return err
		}
	}
	p.logger.Info("serving "+p.url(listener.Addr().String()), "for", p.audience(), "store", p.Target.String(), "runs", p.work())
	start := func(run func()) {
		meanwhile.Go(ctx, p.livePage(run), meanwhile.InBackground(), meanwhile.Name("live page"))
	}
	return p.listen(ctx, listener, detach.Wrap(ctx, start, p.requests.Wrap(p.guard.Wrap(handler))), stop)
}

// livePage returns the task of a live page. Like a request, it does not stop the server when it panics.
func (p *plan) livePage(run func()) func(context.Context) error {
	return func(context.Context) error {
		defer func() {
			if v := recover(); v != nil {
				p.logger.Error("serve: a live page panicked", "panic", v, "stack", string(debug.Stack()))
			}
		}()
		run()
		return nil
	}
}

// finder returns the source of log records, or nil. If this is a log server, it is started, and enqueues the webhook calls of its alerts in store.
func (p *plan) finder(ctx context.Context, store job.Store) (finder storage.Finder, err error) {
	switch {
	case p.records != nil:
		return p.records, nil
	case p.gathers == nil:
		return nil, nil
	}
	if finder, err = p.gathers.Open(ctx, store); err != nil {
		return nil, err
	}
	meanwhile.Go(ctx, p.gathers.Run, meanwhile.Name("logs"))
	return finder, nil
}

// listen answers requests until ctx is canceled, and then lets running requests end; stop ends those that wait.
func (p *plan) listen(ctx context.Context, listener net.Listener, handler http.Handler, stop func()) error {
	base, cancel := context.WithCancelCause(context.Background()) // requests continue for a moment after ctx
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      requestTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          log.New(&errorLog{logger: p.logger}, "", 0),
	}
	server.RegisterOnShutdown(stop)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		p.logger.Info("stopping", "cause", context.Cause(ctx))
		defer cancel(nil)
		return meanwhile.Shield(ctx, stopTime, func(inner context.Context) error {
			streams := time.AfterFunc(streamTime, func() { cancel(context.Cause(ctx)) })
			defer streams.Stop()
			if server.Shutdown(inner) != nil {
				_ = server.Close()
			}
			return nil
		})
	}, meanwhile.Name("closer"))
	var err error
	if p.certificate == nil {
		err = server.Serve(listener)
	} else {
		server.TLSConfig = &tls.Config{GetCertificate: p.certificate.Get, MinVersion: tls.VersionTLS12}
		err = server.ServeTLS(listener, "", "")
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
