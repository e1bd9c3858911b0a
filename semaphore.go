package meanwhile

import (
	"container/list"
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A Semaphore bounds what runs at once by weight. Those who wait get it in the order in which they asked, so that a
// heavy one is not overtaken for ever by light ones. Any goroutine may release what another took; the tree shows which tasks
// took it, and finds deadlocks as long as each task releases what it took. Its methods may be called by many goroutines at once.
type Semaphore struct {
	made [1]uintptr // the place where it was

	mu      sync.Mutex
	size    int
	held    int
	waiting list.List // of *acquirer, oldest first
	tracked bool      // who holds it: not so for the limits of this package, whose places are given back by others
	holders holders
}

// An acquirer is a goroutine that waits for a semaphore.
type acquirer struct {
	parker
	s       *Semaphore
	set     goroutine.Address // the goroutine's label set
	weight  int
	granted bool  // guarded by s.mu, as is
	refused error // why it will never be
}

func (*acquirer) kind() waiterKind { return isAcquirer }

// NewSemaphore returns a semaphore of the given size. It panics unless size is positive.
func NewSemaphore(size int) *Semaphore {
	mustBePositive("NewSemaphore", size)
	s := &Semaphore{size: size, tracked: goroutine.Exact}
	runtime.Callers(2, s.made[:])
	return s
}

// Acquire takes weight from the semaphore and waits until so much is free. It returns ctx's error with its cause when ctx
// is canceled first, and an error at once for a weight that is negative or larger than the semaphore, also when that is made
// smaller ([Semaphore.Set]) while it waits. After nil, call Release with the same weight.
func (s *Semaphore) Acquire(ctx context.Context, weight int) error {
	if err := ctxError(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.check(weight); err != nil {
		s.mu.Unlock()
		return err
	}
	if s.waiting.Len() == 0 && weight <= s.size-s.held {
		s.held += weight
		if s.tracked {
			s.holders.add(goroutine.Current(), weight)
		}
		s.mu.Unlock()
		return nil
	}
	a := &acquirer{s: s, set: currentSet(), weight: weight}
	a.ready()
	place := s.waiting.PushBack(a)
	s.mu.Unlock()

	a.park(ctx, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.granted || a.refused != nil {
		return a.refused
	}
	s.waiting.Remove(place)
	s.grant() // to those behind it
	return ctxError(ctx)
}

// check says what is wrong with a weight.
func (s *Semaphore) check(weight int) error {
	if weight >= 0 && weight <= s.size {
		return nil
	}
	return fmt.Errorf("acquire %d of a semaphore of size %d: the weight must be from 0 to the size", weight, s.size)
}

// TryAcquire takes weight if so much is free and nobody waits, and reports whether it did.
func (s *Semaphore) TryAcquire(weight int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if weight < 0 || s.waiting.Len() > 0 || weight > s.size-s.held {
		return false
	}
	s.held += weight
	if s.tracked {
		s.holders.add(goroutine.Current(), weight)
	}
	return true
}

// Release gives weight back. It panics when more is given back than is held.
func (s *Semaphore) Release(weight int) {
	s.mu.Lock()
	if held := s.held; weight < 0 || weight > held {
		s.mu.Unlock()
		panic(fmt.Sprintf("meanwhile: Release(%d) of a semaphore with %d held: release once what one Acquire took", weight, held))
	}
	s.held -= weight
	if s.tracked {
		s.holders.remove(weight, s.held)
	}
	if s.waiting.Len() > 0 {
		s.grant()
	}
	s.mu.Unlock()
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

// Size returns the size in force.
func (s *Semaphore) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Set changes the size. A larger one serves those who wait at once. A smaller one lets holders finish: Held is above the size
// until they have released enough, and nothing is given before. Those who wait with a weight larger than the new size get the
// error that [Semaphore.Acquire] returns for such a weight. Set panics unless size is positive.
func (s *Semaphore) Set(size int) {
	mustBePositive("Semaphore.Set", size)
	s.resize(size)
}

// resize changes the size and returns what it was.
func (s *Semaphore) resize(size int) (before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.size = s.size, size
	var next *list.Element
	for place := s.waiting.Front(); place != nil; place = next {
		next = place.Next()
		a := place.Value.(*acquirer)
		if a.refused = s.check(a.weight); a.refused != nil {
			s.waiting.Remove(place)
			a.wake()
		}
	}
	s.grant()
	return before
}

// grant serves those who wait, oldest first, as far as there is room.
func (s *Semaphore) grant() {
	for place := s.waiting.Front(); place != nil; place = s.waiting.Front() {
		a := place.Value.(*acquirer)
		if a.weight > s.size-s.held {
			return
		}
		s.held += a.weight
		if s.tracked {
			s.holders.add(a.set, a.weight)
		}
		s.waiting.Remove(place)
		a.granted = true
		a.wake()
	}
}
