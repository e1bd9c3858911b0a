package dash

import (
	"context"
	"sync"
	"time"
)

// A singleFlight value is read from the store by one of its concurrent callers; the others wait for the result, and all use it while it is fresh.
type singleFlight[T any] struct {
	read func(context.Context) (T, error)
	turn chan struct{} // holds one value: the right to read

	mu     sync.Mutex
	value  T
	at     time.Time
	change uint64 // counts calls of forget
}

func newShared[T any](read func(context.Context) (T, error)) *singleFlight[T] {
	s := &singleFlight[T]{read: read, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// get returns the value, which must not be changed.
func (s *singleFlight[T]) get(ctx context.Context) (T, error) {
	if value, ok := s.known(); ok {
		return value, nil
	}
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
	if value, ok := s.known(); ok {
		return value, nil
	}
	s.mu.Lock()
	change := s.change
	s.mu.Unlock()
	value, err := s.read(ctx)
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change == change { // otherwise it may be older than the change
		s.value, s.at = value, time.Now()
	}
	return value, nil
}

// fill reads the value, so that following calls of get find it.
func (s *singleFlight[T]) fill(ctx context.Context) error {
	_, err := s.get(ctx)
	return err
}

func (s *singleFlight[T]) known() (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, !s.at.IsZero() && time.Since(s.at) < fresh
}

func (s *singleFlight[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = time.Time{}
	s.change++
}
