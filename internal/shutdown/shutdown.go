// Package shutdown ends long answers, such as event streams, when their http.Server shuts down: http.Server.Shutdown waits for all of them, and does
// not end any.
package shutdown

import (
	"context"
	"net/http"
	"sync"
)

// Servers are the servers that have sent such answers. The zero value is ready.
type Servers struct {
	mu     sync.Mutex
	ending map[*http.Server]context.Context // canceled when the server starts to shut down
}

// Context returns a copy of the ctx of a request that is also canceled when its server starts to shut down. Call the returned function when the
// answer is over.
func (s *Servers) Context(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok { // in a test, or with a server of another kind
		return ctx, cancel
	}
	detach := context.AfterFunc(s.of(server), cancel)
	return ctx, func() {
		detach()
		cancel()
	}
}

// of returns the ctx that is canceled when a server starts to shut down.
func (s *Servers) of(server *http.Server) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ending := s.ending[server]; ending != nil {
		return ending
	}
	ending, end := context.WithCancel(context.Background())
	server.RegisterOnShutdown(end)
	if s.ending == nil {
		s.ending = map[*http.Server]context.Context{}
	}
	s.ending[server] = ending
	return ending
}
