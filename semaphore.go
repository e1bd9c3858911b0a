package meanwhile

import (
	"context"
	"runtime"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Semaphore bounds what runs at once by weight. Those who wait get it in the order in which they asked, so that a
// heavy one is not overtaken for ever by light ones. Any goroutine may release what another took; the tree shows which tasks
// took it, and finds deadlocks as long as each task releases what it took. Its methods may be called by many goroutines at once.
type Semaphore struct{ s scope.Sem }

// NewSemaphore returns a semaphore of the given size. It panics unless size is positive.
func NewSemaphore(size int) *Semaphore {
	mustBePositive("NewSemaphore", size)
	var made [1]uintptr
	runtime.Callers(2, made[:])
	s := new(Semaphore)
	s.s.Open(size)
	s.s.Track(made[0])
	return s
}

// Acquire takes weight from the semaphore and waits until so much is free. It returns ctx's error with its cause when ctx
// is canceled first, and an error at once for a weight that is negative or larger than the semaphore, also when that is made
// smaller ([Semaphore.Set]) while it waits. After nil, call Release with the same weight.
func (s *Semaphore) Acquire(ctx context.Context, weight int) error { return s.s.Acquire(ctx, weight) }

// TryAcquire takes weight if so much is free and no other task waits, and reports whether it did.
func (s *Semaphore) TryAcquire(weight int) bool { return s.s.TryAcquire(weight) }

// Release gives weight back. It panics when more is given back than is held.
func (s *Semaphore) Release(weight int) { s.s.Release(weight) }

// InUse returns how much of the semaphore is taken.
func (s *Semaphore) InUse() int {
	held, _, _ := s.s.Usage()
	return held
}

// Waiting returns how many callers of Acquire wait.
func (s *Semaphore) Waiting() int {
	_, waiting, _ := s.s.Usage()
	return waiting
}

// Size returns the size in force.
func (s *Semaphore) Size() int {
	_, _, size := s.s.Usage()
	return size
}

// Set changes the size. A larger one serves those who wait at once. A smaller one lets holders finish: [Semaphore.InUse] is above the size
// until they have released enough, and nothing is given before. Those who wait with a weight larger than the new size get the
// error that [Semaphore.Acquire] returns for such a weight. Set panics unless size is positive.
func (s *Semaphore) Set(size int) {
	mustBePositive("Semaphore.Set", size)
	s.s.Resize(size)
}
