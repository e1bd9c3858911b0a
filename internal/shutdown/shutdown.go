// Package shutdown ends answers that go on, such as event streams, when the http.Server that gives them shuts down: http.Server.Shutdown waits for
// all of them, and does not end any.
package shutdown

import (
	"context"
	"net/http"
	"sync"
)

// Servers are those that have given such answers. The zero value is ready.
type Servers struct {
	mu     sync.Mutex
	ending map[*http.Server]context.Context // canceled when the server begins to shut down
}

// Context returns a copy of the ctx of a request that is canceled when its server begins to shut down, too. Call the function that it returns when
// the answer is over.
func (s *Servers) Context(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok { // of a test, or of a server of another kind
		return ctx, cancel
	}
	detach := context.AfterFunc(s.of(server), cancel)
	return ctx, func() {
		detach()
		cancel()
	}
}

// of returns the ctx that is canceled when a server begins to shut down.
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
