package main

import (
	"context"
	"net"
	"sync"

	"github.com/meanwhile-go/meanwhile"
)

// A shelf records how much there is of each article.
type shelf struct {
	mu     sync.Mutex
	counts map[string]int
}

// stock requests the counts from the warehouse, while a customer reads one.
func stock(ctx context.Context, address string) error {
	var s shelf
	locked := make(chan struct{})
	meanwhile.Go(ctx, func(context.Context) error { return s.refresh(address, locked) }, meanwhile.Name("refresh"))
	meanwhile.Go(ctx, func(context.Context) error {
		<-locked
		s.count("shirts")
		return nil
	}, meanwhile.Name("customer"))
	return nil
}

// refresh holds the mutex while it waits for the warehouse, so all callers that need the mutex wait for the warehouse, too.
func (s *shelf) refresh(address string, locked chan<- struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(locked)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 100))
	return err
}

func (s *shelf) count(article string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[article]
}
