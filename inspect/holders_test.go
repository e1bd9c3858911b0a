package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// acquireAll returns the function of a task that acquires one of each semaphore, a second apart, and then sleeps for an hour.
func acquireAll(list ...*Semaphore) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, s := range list {
			if err := s.Acquire(ctx, 1); err != nil {
				return err
			}
			defer s.Release(1)
			if err := Sleep(ctx, time.Second); err != nil {
				return err
			}
		}
		return Sleep(ctx, time.Hour)
	}
}

// usedProperly returns a semaphore that a task has acquired and released.
func usedProperly(ctx context.Context, size int) *Semaphore {
	s := NewSemaphore(size)
	_ = s.Acquire(ctx, 1)
	s.Release(1)
	return s
}

// The tasks that acquired a semaphore are shown where a task waits for it. Tasks that wait for each other by semaphores are a deadlock, but not
// if it is unknown who will release what was acquired.
func TestSemaphoresThatTasksWaitForEachOtherBy(t *testing.T) {
	tests := map[string]struct {
		start     func(ctx context.Context)
		takenBy   map[string]string // by the task that waits
		deadlocks string            // all tasks that are marked
	}{
		"opposite order": {
			start: func(ctx context.Context) {
				one, two := NewSemaphore(1), NewSemaphore(1)
				Go(ctx, acquireAll(one, two), Name("a"))
				Go(ctx, acquireAll(two, one), Name("b"))
				Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, 2*time.Second)
					return one.Acquire(ctx, 1)
				}, Name("outside"))
			},
			takenBy:   map[string]string{"a": "run/b", "b": "run/a", "outside": "run/a"},
			deadlocks: "a b",
		},
		"a ring of three": {
			start: func(ctx context.Context) {
				one, two, three := NewSemaphore(1), NewSemaphore(1), NewSemaphore(1)
				Go(ctx, acquireAll(one, two), Name("a"))
				Go(ctx, acquireAll(two, three), Name("b"))
				Go(ctx, acquireAll(three, one), Name("c"))
			},
			takenBy:   map[string]string{"a": "run/b", "b": "run/c", "c": "run/a"},
			deadlocks: "a b c",
		},
		"by a scope inside": {
			start: func(ctx context.Context) {
				one, two := NewSemaphore(1), NewSemaphore(1)
				Go(ctx, func(ctx context.Context) error {
					_ = one.Acquire(ctx, 1)
					defer one.Release(1)
					_ = Sleep(ctx, time.Second)
					return Run(ctx, acquireAll(two), Name("inner"))
				}, Name("a"))
				Go(ctx, acquireAll(two, one), Name("b"))
			},
			takenBy:   map[string]string{"a/inner": "run/b", "b": "run/a"},
			deadlocks: "a/inner b",
		},
		"a semaphore and a task": {
			start: func(ctx context.Context) {
				one := NewSemaphore(1)
				a := make(chan *Task[struct{}], 1)
				a <- Go(ctx, acquireAll(one, usedProperly(ctx, 1)), Name("free"))
				<-a
				two := NewSemaphore(1)
				a <- Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, time.Second)
					return two.Acquire(ctx, 1)
				}, Name("a"))
				Go(ctx, func(ctx context.Context) error {
					_ = two.Acquire(ctx, 1)
					defer two.Release(1)
					_, err := (<-a).Wait(ctx)
					return err
				}, Name("b"))
			},
			takenBy:   map[string]string{"a": "run/b"},
			deadlocks: "a b",
		},
		"each has one and wants another": {
			start: func(ctx context.Context) {
				s := usedProperly(ctx, 2)
				Go(ctx, acquireAll(s, s), Name("a"))
				Go(ctx, acquireAll(s, s), Name("b"))
			},
			takenBy:   map[string]string{"a": "run/a and run/b", "b": "run/a and run/b"},
			deadlocks: "a b",
		},
		"one wants more than the others leave": {
			start: func(ctx context.Context) {
				one, two := NewSemaphore(3), NewSemaphore(1)
				Go(ctx, func(ctx context.Context) error { return one.Acquire(ctx, 1) }, Name("ended")) // no task releases it
				Go(ctx, acquireAll(one, two), Name("a"))
				Go(ctx, acquireAll(two, one, one), Name("b"))
			},
			takenBy:   map[string]string{"a": "run/b"},
			deadlocks: "",
		},
		"in the queue behind one that waits": {
			start: func(ctx context.Context) {
				s := usedProperly(ctx, 3)
				Go(ctx, acquireAll(s, s), Name("a"))
				Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, time.Second/2)
					return s.Acquire(ctx, 3)
				}, Name("heavy"))
			},
			takenBy:   map[string]string{"a": "run/a", "heavy": "run/a"},
			deadlocks: "a heavy",
		},
		"the first holder can still release": {
			start: func(ctx context.Context) {
				one, two := NewSemaphore(2), NewSemaphore(1)
				Go(ctx, acquireAll(one), Name("sleeper"))
				Go(ctx, acquireAll(one, two), Name("a"))
				Go(ctx, acquireAll(two, one), Name("b"))
			},
			takenBy: map[string]string{"a": "run/b", "b": "run/a and run/sleeper"},
		},
		"handed to a goroutine": {
			start: func(ctx context.Context) {
				one, two := NewSemaphore(1), NewSemaphore(1)
				hand := func(own, other *Semaphore) func(context.Context) error {
					return func(ctx context.Context) error {
						_ = own.Acquire(ctx, 1)
						go func() {
							<-ctx.Done()
							own.Release(1)
						}()
						_ = Sleep(ctx, time.Second)
						return other.Acquire(ctx, 1)
					}
				}
				Go(ctx, hand(one, two), Name("a"))
				Go(ctx, hand(two, one), Name("b"))
			},
			takenBy: map[string]string{"a": "run/b", "b": "run/a"},
		},
		"handed to a task below": {
			start: func(ctx context.Context) {
				one, two := NewSemaphore(1), NewSemaphore(1)
				hand := func(own, other *Semaphore) func(context.Context) error {
					return func(ctx context.Context) error {
						_ = own.Acquire(ctx, 1)
						Go(ctx, func(ctx context.Context) error {
							defer own.Release(1)
							return Sleep(ctx, time.Hour)
						})
						_ = Sleep(ctx, time.Second)
						return other.Acquire(ctx, 1)
					}
				}
				Go(ctx, hand(one, two), Name("a"))
				Go(ctx, hand(two, one), Name("b"))
			},
			takenBy: map[string]string{"a": "run/b", "b": "run/a"},
		},
		"handed to a worker, for the first time": {
			start: func(ctx context.Context) {
				s, work := NewSemaphore(1), make(chan struct{})
				Go(ctx, func(ctx context.Context) error {
					<-work
					defer s.Release(1)
					return Sleep(ctx, time.Hour)
				}, Name("worker"))
				Go(ctx, func(ctx context.Context) error {
					_ = s.Acquire(ctx, 1)
					work <- struct{}{}
					return s.Acquire(ctx, 1)
				}, Name("dispatcher"))
			},
			takenBy: map[string]string{"dispatcher": "run/dispatcher"},
		},
		"released by another": {
			start: func(ctx context.Context) {
				s := usedProperly(ctx, 2)
				Go(ctx, acquireAll(s, s), Name("a"))
				Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, time.Second/2)
					s.Release(1)
					_ = s.Acquire(ctx, 2)
					_ = Sleep(ctx, time.Second)
					return s.Acquire(ctx, 1)
				}, Name("b"))
			},
			takenBy: map[string]string{"a": "run/b", "b": "run/b"},
		},
		"released by another, and not free since": {
			start: func(ctx context.Context) {
				s := usedProperly(ctx, 2)
				Go(ctx, acquireAll(s), Name("a"))
				Go(ctx, acquireAll(s), Name("b"))
				Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, time.Second/2)
					s.Release(1)
					return s.Acquire(ctx, 2)
				}, Name("c"))
			},
			takenBy: map[string]string{"c": ""},
		},
		"more than are remembered": {
			start: func(ctx context.Context) {
				s := NewSemaphore(65)
				for range 65 {
					Go(ctx, acquireAll(s))
				}
				Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, time.Second)
					return s.Acquire(ctx, 1)
				}, Name("waiter"))
			},
			takenBy: map[string]string{"waiter": ""},
		},
		"as many as are named": {
			start: func(ctx context.Context) {
				s := NewSemaphore(5)
				for i := range 5 {
					Go(ctx, acquireAll(s), Name(fmt.Sprint("holder ", i)))
				}
				Go(ctx, func(ctx context.Context) error {
					_ = Sleep(ctx, time.Second)
					return s.Acquire(ctx, 1)
				}, Name("waiter"))
			},
			takenBy: map[string]string{"waiter": "run/holder 0, run/holder 1, run/holder 2 and 2 more"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_ = Run(t.Context(), func(ctx context.Context) error {
					test.start(ctx)
					time.Sleep(time.Minute)
					synctest.Wait()
					var deadlocks []string
					got := make(map[string]string)
					tree := Tree(ctx)
					var walk func(n Node)
					walk = func(n Node) {
						path := strings.TrimPrefix(n.Path, "run/")
						if n.Wait.Deadlock {
							deadlocks = append(deadlocks, path)
						}
						if n.Wait.For == "semaphore" {
							_, got[path], _ = strings.Cut(n.Wait.On, ", taken by ")
						}
						for _, k := range n.Tasks {
							walk(k)
						}
					}
					walk(tree)
					if !goroutine.Exact { // then no task is named, rather than one that may be the wrong one
						test.deadlocks = ""
						for path := range test.takenBy {
							test.takenBy[path] = ""
						}
					}
					for path, want := range test.takenBy {
						if text, ok := got[path]; !ok || text != want {
							t.Errorf("%s waits for a semaphore taken by %q, want %q", path, text, want)
						}
					}
					if got := strings.Join(deadlocks, " "); got != test.deadlocks {
						t.Errorf("deadlocks: got %q, want %q", got, test.deadlocks)
					}
					if t.Failed() {
						t.Log(tree)
					}
					return errors.New("enough") // cancels the waiting tasks
				})
			})
		})
	}
}

// A semaphore that a task has not released does not keep the task from being garbage collected.
func TestSemaphoreKeepsNoTask(t *testing.T) {
	type key struct{}
	s, collected := NewSemaphore(2), make(chan bool)
	func() {
		value := new([1 << 10]byte)
		runtime.AddCleanup(value, func(bool) { close(collected) }, true)
		err := Run(context.WithValue(t.Context(), key{}, value), func(ctx context.Context) error {
			_, err := Go(ctx, func(ctx context.Context) error { return s.Acquire(ctx, 1) }).Wait(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}()
	for {
		runtime.GC()
		select {
		case <-collected:
			if s.InUse() != 1 {
				t.Errorf("%d held, want 1", s.InUse())
			}
			return
		case <-t.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A Release that panics leaves the semaphore unchanged.
func TestSemaphoreReleaseOfTooMuch(t *testing.T) {
	s := NewSemaphore(2)
	s.TryAcquire(1)
	func() {
		defer func() {
			if p := recover(); p == nil {
				t.Error("it did not panic")
			}
		}()
		s.Release(2)
	}()
	if s.InUse() != 1 || !s.TryAcquire(1) {
		t.Errorf("%d held", s.InUse())
	}
}
