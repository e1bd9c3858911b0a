package segment

import (
	"github.com/meanwhile-go/meanwhile/logs"
)

// A service is what the store knows of one service.
type service struct {
	name    string
	written uint64 // number of the last record written; guarded by Store.writing

	// Guarded by Store.mu.
	kept     uint64     // number of the last record that is visible
	segments []*segment // sorted by their numbers; it is replaced, and its elements do not change
	damaged  int64      // bytes that were left out
	found    map[damage]struct{}
}

// A damage is a place that could not be read. It is reported once.
type damage struct {
	path string
	off  int64
}

// A client is what the store knows of one client.
type client struct {
	written uint64 // its last number written; guarded by Store.writing

	// Guarded by Store.mu.
	kept     uint64 // its last number that Append returned for
	lastSeen int64  // when it was last seen, seconds since 1970; zero if the clock was not trusted then
}

// service returns the service with a name, and adds it if there is none. The map is guarded by Store.mu; who adds to it holds
// Store.writing as well.
func (s *Store) service(name string) *service {
	s.mu.Lock()
	defer s.mu.Unlock()
	svc := s.services[name]
	if svc == nil {
		svc = &service{name: name}
		s.services[name] = svc
	}
	return svc
}

func (s *Store) client(id logs.Client) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[id]
	if c == nil {
		c = new(client)
		s.clients[id] = c
	}
	return c
}
