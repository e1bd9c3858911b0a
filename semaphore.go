package meanwhile

import (
	"container/list"
	"context"
	"fmt"
	"sync"
)

// A Semaphore bounds what runs at once by weight. Those who wait get it in the order in which they asked, so that a
// heavy one is not overtaken for ever by light ones. Its methods may be called by many goroutines at once.
type Semaphore struct {
	size int

	mu      sync.Mutex
	held    int
	waiting list.List // of *acquirer, oldest first
}

type acquirer struct {
	weight int
	ready  chan struct{}
}

// NewSemaphore returns a semaphore of the given size. It panics unless size is positive.
func NewSemaphore(size int) *Semaphore {
	mustBePositive("NewSemaphore", size)
	return &Semaphore{size: size}
}

// Acquire takes weight from the semaphore and waits until so much is free. It returns ctx's error with its cause when ctx
// is canceled first, and an error at once for a weight that is negative or larger than the semaphore. After nil, call
// Release with the same weight.
func (s *Semaphore) Acquire(ctx context.Context, weight int) error {
	if weight < 0 || weight > s.size {
		return fmt.Errorf("acquire %d of a semaphore of size %d: the weight must be from 0 to the size", weight, s.size)
	}
	if err := ctxError(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.waiting.Len() == 0 && s.held+weight <= s.size {
		s.held += weight
		s.mu.Unlock()
		return nil
	}
	a := &acquirer{weight: weight, ready: make(chan struct{})}
	place := s.waiting.PushBack(a)
	s.mu.Unlock()

	select {
	case <-a.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-a.ready: // granted meanwhile: hand it on
		s.held -= weight
	default:
		s.waiting.Remove(place)
	}
	s.grant()
	return ctxError(ctx)
}

// TryAcquire takes weight if so much is free and nobody waits, and reports whether it did.
func (s *Semaphore) TryAcquire(weight int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if weight < 0 || s.waiting.Len() > 0 || s.held+weight > s.size {
		return false
	}
	s.held += weight
	return true
}

// Release gives weight back. It panics when more is given back than is held.
func (s *Semaphore) Release(weight int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if weight < 0 || weight > s.held {
		panic(fmt.Sprintf("meanwhile: Release(%d) of a semaphore with %d held: release once what one Acquire took", weight, s.held))
	}
	s.held -= weight
	s.grant()
}

// Held returns how much of the semaphore is taken.
func (s *Semaphore) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Waiting returns how many callers of Acquire wait.
func (s *Semaphore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting.Len()
}

// grant serves those who wait, oldest first, as far as there is room.
func (s *Semaphore) grant() {
	for place := s.waiting.Front(); place != nil; place = s.waiting.Front() {
		a := place.Value.(*acquirer)
		if s.held+a.weight > s.size {
			return
		}
		s.held += a.weight
		s.waiting.Remove(place)
		close(a.ready)
	}
}
