package scope

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A Sem is a weighted semaphore that serves first come, first served. Programs use it, and so do the limits of this module. A limit is
// released by other tasks than those that acquired it, and its holders are not tracked, so without waiters both operations are a single
// compare-and-swap.
type Sem struct {
	made uintptr // return address of the place where a program created it; zero for a limit

	free atomic.Uint64 // free weight plus one; zero while the mutex is needed: there are waiters, it is locked, or holders are tracked
	size atomic.Int64  // changed with the mutex held

	mu      sync.Mutex
	inUse   int       // valid while free is zero
	waiting list.List // of *SemWaiter, oldest first
	tracked bool      // holders are known
	holders holders
}

// A SemWaiter is a goroutine that waits for a semaphore.
type SemWaiter struct {
	BlockedWait
	S       *Sem
	Set     goroutine.Address // label set of the goroutine
	Weight  int
	granted bool  // guarded by s.mu, like refused
	refused error // why it can never be served
}

func (*SemWaiter) Kind() WaiterKind { return ForSemaphore }

// NewSem returns a semaphore for a limit.
func NewSem(size int) *Sem {
	s := new(Sem)
	s.Open(size)
	return s
}

// Open gives a new semaphore its size.
func (s *Sem) Open(size int) {
	s.size.Store(int64(size))
	s.free.Store(uint64(size) + 1)
}

// Track makes a new semaphore remember where a program created it, and who holds it.
func (s *Sem) Track(made uintptr) {
	s.made, s.tracked = made, goroutine.Exact
	if s.tracked {
		s.free.Store(0)
	}
}

// lock locks the mutex, and keeps other goroutines from acquiring and releasing without it.
func (s *Sem) lock() {
	s.mu.Lock()
	if free := s.free.Swap(0); free > 0 {
		s.inUse = int(s.size.Load()) - int(free-1)
	}
}

func (s *Sem) unlock() {
	if space := int(s.size.Load()) - s.inUse; !s.tracked && space >= 0 && s.waiting.Len() == 0 {
		s.free.Store(uint64(space) + 1)
	}
	s.mu.Unlock()
}

// tryTake acquires weight without the mutex. If it returns false, the weight may still be free.
func (s *Sem) tryTake(weight int) bool {
	free := s.free.Load()
	return weight >= 0 && free > uint64(weight) && s.free.CompareAndSwap(free, free-uint64(weight))
}

// tryGive releases weight without the mutex. If it returns false, the mutex is needed; that is not an error.
func (s *Sem) tryGive(weight int) bool {
	free := s.free.Load()
	return weight >= 0 && free > 0 && free-1+uint64(weight) <= uint64(s.size.Load()) && s.free.CompareAndSwap(free, free+uint64(weight))
}

// Acquire acquires weight, and waits until that much is free. It returns ctx's error with its cause if ctx is canceled first. For a
// weight that can never be free, it returns an error at once.
func (s *Sem) Acquire(ctx context.Context, weight int) error {
	if err := CtxError(ctx); err != nil {
		return err
	}
	if s.tryTake(weight) {
		return nil
	}
	s.lock()
	if err := s.check(weight); err != nil {
		s.unlock()
		return err
	}
	if s.waiting.Len() == 0 && weight <= int(s.size.Load())-s.inUse {
		s.acquired(weight)
		s.unlock()
		return nil
	}
	a := &SemWaiter{S: s, Set: currentSet(), Weight: weight}
	a.Ready()
	place := s.waiting.PushBack(a)
	s.unlock()

	a.Block(ctx, a)
	s.lock()
	defer s.unlock()
	if a.granted || a.refused != nil {
		return a.refused
	}
	s.waiting.Remove(place)
	s.grant() // to the waiters behind it
	return CtxError(ctx)
}

// check returns an error for an invalid weight.
func (s *Sem) check(weight int) error {
	if weight >= 0 && weight <= int(s.size.Load()) {
		return nil
	}
	return fmt.Errorf("acquire %d of a semaphore of size %d: the weight must be from 0 to the size", weight, s.size.Load())
}

// acquired counts weight as held by the running goroutine; the caller holds the lock.
func (s *Sem) acquired(weight int) {
	s.inUse += weight
	if s.tracked {
		s.holders.add(goroutine.Current(), weight)
	}
}

// TryAcquire acquires weight if that much is free and there are no waiters. It reports whether it did.
func (s *Sem) TryAcquire(weight int) bool {
	if s.tryTake(weight) {
		return true
	}
	s.lock()
	defer s.unlock()
	if weight < 0 || s.waiting.Len() > 0 || weight > int(s.size.Load())-s.inUse {
		return false
	}
	s.acquired(weight)
	return true
}

// Release releases weight. It panics if more is released than is held.
func (s *Sem) Release(weight int) {
	if s.tryGive(weight) {
		return
	}
	s.lock()
	if held := s.inUse; weight < 0 || weight > held {
		s.unlock()
		panic(fmt.Sprintf("meanwhile: Release(%d) of a semaphore with %d held: release once what one Acquire took", weight, held))
	}
	s.inUse -= weight
	if s.tracked {
		s.holders.remove(weight, s.inUse)
	}
	if s.waiting.Len() > 0 {
		s.grant()
	}
	s.unlock()
}

// Resize changes the size and returns the old one. Waiters whose weight is now larger than the size get an error.
func (s *Sem) Resize(size int) (before int) {
	s.lock()
	defer s.unlock()
	before = int(s.size.Swap(int64(size)))
	var next *list.Element
	for place := s.waiting.Front(); place != nil; place = next {
		next = place.Next()
		a := place.Value.(*SemWaiter)
		if a.refused = s.check(a.Weight); a.refused != nil {
			s.waiting.Remove(place)
			a.Wake()
		}
	}
	s.grant()
	return before
}

// grant serves waiters, oldest first, while their weight is free.
func (s *Sem) grant() {
	for place := s.waiting.Front(); place != nil; place = s.waiting.Front() {
		a := place.Value.(*SemWaiter)
		if a.Weight > int(s.size.Load())-s.inUse {
			return
		}
		s.inUse += a.Weight
		if s.tracked {
			s.holders.add(a.Set, a.Weight)
		}
		s.waiting.Remove(place)
		a.granted = true
		a.Wake()
	}
}

// A semState is the state of a semaphore at one moment.
type semState struct {
	Size, InUse int
	Made        uintptr // as in Sem
	Queue       []*SemWaiter
	Holders     holders // may not be tracked
	Tracked     bool
}

// State returns the current state of s.
func (s *Sem) State() semState {
	s.lock()
	defer s.unlock()
	now := semState{Size: int(s.size.Load()), InUse: s.inUse, Made: s.made, Tracked: s.tracked, Holders: s.holders}
	now.Holders.List = slices.Clone(s.holders.List)
	for place := s.waiting.Front(); place != nil; place = place.Next() {
		now.Queue = append(now.Queue, place.Value.(*SemWaiter))
	}
	return now
}

// Usage returns how much is held, how many wait, and the size.
func (s *Sem) Usage() (held, waiting, size int) {
	s.lock()
	defer s.unlock()
	return s.inUse, s.waiting.Len(), int(s.size.Load())
}
