package meanwhile

import (
	"context"
	"runtime"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Semaphore is a weighted semaphore: it limits the total weight acquired at a time. Waiters acquire it in the order in
// which they asked, so that light ones cannot overtake a heavy one for ever. Any goroutine may release what another
// acquired; the tree shows which tasks acquired it, and deadlocks are found as long as each task releases what it acquired.
// Its methods may be called concurrently.
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

// Acquire waits until weight is free, and acquires it. It returns ctx's error with its cause when ctx is canceled first. It
// immediately returns an error for a weight that is negative or larger than the semaphore, also when the semaphore is made
// smaller ([Semaphore.Set]) during the wait. When Acquire has returned nil, call Release with the same weight.
func (s *Semaphore) Acquire(ctx context.Context, weight int) error { return s.s.Acquire(ctx, weight) }

// TryAcquire acquires weight if that much is free and no other caller waits, and reports whether it did.
func (s *Semaphore) TryAcquire(weight int) bool { return s.s.TryAcquire(weight) }

// Release releases weight. It panics when more is released than was acquired.
func (s *Semaphore) Release(weight int) { s.s.Release(weight) }

// InUse returns how much of the semaphore is acquired.
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

// Set changes the size. A larger size serves waiters immediately. A smaller size lets holders finish: [Semaphore.InUse] is
// above the size until they have released enough, and until then nothing is acquired. Waiters with a weight larger than the
// new size get the error that [Semaphore.Acquire] returns for such a weight. Set panics unless size is positive.
func (s *Semaphore) Set(size int) {
	mustBePositive("Semaphore.Set", size)
	s.s.Resize(size)
}
