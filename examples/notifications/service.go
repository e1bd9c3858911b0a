package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const latency = 30 * time.Millisecond

// A service accepts messages, which take 30 ms each.
type service struct {
	name      string
	url       string
	failsEach int // every n-th call fails; zero for none

	mu            sync.Mutex
	calls, failed int
	arrived       map[string]bool // by the key of the request
	twice         int
}

// serve serves until ctx's scope ends.
func (s *service) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.url, s.arrived = "http://"+listener.Addr().String(), map[string]bool{}
	server := &http.Server{Handler: s}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name(s.name))
	return nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if meanwhile.Sleep(r.Context(), latency) != nil {
		return // the client has disconnected
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.failsEach > 0 && s.calls%s.failsEach == 0 {
		s.failed++
		http.Error(w, "out of order", http.StatusBadGateway)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if s.arrived[key] {
		s.twice++ // a service that supports the key would send nothing
	}
	s.arrived[key] = true
}
