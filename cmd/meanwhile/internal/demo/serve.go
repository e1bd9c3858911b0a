package demo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
)

const (
	enginePath = "/engine/"
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	closeTime  = time.Second // for requests in progress
)

// serve serves the dashboard and the search engine in the background until ctx's scope ends.
func (d *demo) serve(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.Handle(enginePath, http.NewCrossOriginProtection().Handler(http.StripPrefix(enginePath[:len(enginePath)-1], d.engine)))
	mux.Handle("/", dash.New(dash.Config{Store: d.store, Title: "meanwhile demo"}))
	requests, stop := context.WithCancel(context.Background())
	server := &http.Server{
		Handler:     onlyLocal(mux),
		BaseContext: func(net.Listener) context.Context { return requests }, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		defer stop()
		served := meanwhile.Go(ctx, func(context.Context) error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		}, meanwhile.Name("accept"))
		select {
		case <-ctx.Done():
		case <-served.Done():
		}
		stop()
		d.client.close() // the server would wait for connections without a request
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(last) != nil {
			return server.Close()
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("http"))
}

// onlyLocal refuses requests of pages of other sites whose name was made to resolve to this address.
func onlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !(*loopback.Hosts)(nil).Has(r.Host) {
			http.Error(w, "the demo only serves the host name localhost and loopback addresses", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A gauge measures the maximum number of concurrent requests.
type gauge struct {
	next http.Handler

	mu        sync.Mutex
	now, most int
}

// ServeHTTP counts a request and passes it on.
func (g *gauge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.now++
	g.most = max(g.most, g.now)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}()
	g.next.ServeHTTP(w, r)
}

// reset returns the maximum number of concurrent requests since the previous call.
func (g *gauge) reset() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := g.most
	g.most = g.now
	return most
}
