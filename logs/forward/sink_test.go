package forward_test

import (
	"context"
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A sink is an output that keeps the records it gets.
type sink struct {
	mu    sync.Mutex
	calls int
	took  map[string][]logs.Record // by service
	send  func(ctx context.Context, records []logs.Record) error
}

func (s *sink) Send(ctx context.Context, records []logs.Record) error {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	if s.send != nil {
		if err := s.send(ctx, records); err != nil {
			return err
		}
	}
	s.take(records)
	return nil
}

func (s *sink) take(records []logs.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took == nil {
		s.took = map[string][]logs.Record{}
	}
	for _, r := range records {
		s.took[r.Service] = append(s.took[r.Service], r)
	}
}

func (s *sink) numbers(service string) (numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.took[service] {
		numbers = append(numbers, r.Number)
	}
	return numbers
}

func (s *sink) Close() error { return nil }

// upTo returns the numbers from first to last.
func upTo(first, last uint64) (numbers []uint64) {
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}
