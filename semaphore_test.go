package meanwhile_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
)

// A journal records what many goroutines report, in order.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *journal[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

func TestSemaphoreAcquireWaitsUntilSoMuchIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := NewSemaphore(3), t.Context()
		if err := s.Acquire(ctx, 2); err != nil {
			t.Fatal(err)
		}
		got := make(chan time.Duration, 1)
		start := time.Now()
		go func() {
			if err := s.Acquire(ctx, 3); err != nil {
				t.Error(err)
			}
			got <- time.Since(start)
		}()
		synctest.Wait()
		if s.InUse() != 2 || s.Waiting() != 1 {
			t.Errorf("%d held, %d waiting, want 2 and 1", s.InUse(), s.Waiting())
		}
		time.Sleep(time.Second)
		s.Release(1)
		time.Sleep(time.Second)
		s.Release(1)
		if d := <-got; d != 2*time.Second {
			t.Errorf("got it after %v, want 2 s", d)
		}
		if s.InUse() != 3 || s.Waiting() != 0 {
			t.Errorf("%d held, %d waiting, want 3 and 0", s.InUse(), s.Waiting())
		}
		s.Release(3)
	})
}

func TestSemaphoreServesInOrderOfAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := NewSemaphore(4), t.Context()
		if err := s.Acquire(ctx, 3); err != nil {
			t.Fatal(err)
		}
		var order journal[int]
		// The heavy caller comes first; the light ones would fit immediately.
		for i, weight := range []int{4, 1, 1, 2} {
			go func() {
				if err := s.Acquire(ctx, weight); err != nil {
					t.Error(err)
				}
				order.add(i)
				time.Sleep(time.Second)
				s.Release(weight)
			}()
			synctest.Wait()
		}
		if s.TryAcquire(1) {
			t.Error("TryAcquire overtook waiting callers")
		}
		if s.Waiting() != 4 {
			t.Errorf("%d wait, want 4", s.Waiting())
		}
		s.Release(3)
		synctest.Wait()
		if got := order.all(); !slices.Equal(got, []int{0}) {
			t.Errorf("served %v, want only the heavy caller", got)
		}
		time.Sleep(time.Minute)
		got := order.all()
		if slices.Sort(got[1:]); !slices.Equal(got, []int{0, 1, 2, 3}) {
			t.Errorf("served %v", got)
		}
	})
}

func TestSemaphoreAcquireEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(2)
		if !s.TryAcquire(1) {
			t.Fatal("TryAcquire of an empty semaphore")
		}
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		heavy, light := make(chan error, 1), make(chan error, 1)
		go func() { heavy <- s.Acquire(ctx, 2) }()
		synctest.Wait()
		go func() { light <- s.Acquire(t.Context(), 1) }()
		synctest.Wait()
		cancel(reason)
		if err := <-heavy; !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error and its cause", err)
		}
		if err := <-light; err != nil { // it had to wait only for the heavy caller
			t.Error(err)
		}
		// Acquire with a canceled context fails even if the weight is free.
		s.Release(2)
		if err := s.Acquire(ctx, 1); !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
		if s.InUse() != 0 {
			t.Errorf("%d held at the end", s.InUse())
		}
	})
}

// A caller that is canceled and served at the same moment has either acquired the semaphore or passed it on.
func TestSemaphoreHandsOnWhatACanceledCallerGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 200 {
			s := NewSemaphore(1)
			s.TryAcquire(1)
			ctx, cancel := context.WithCancel(t.Context())
			first, second := make(chan error, 1), make(chan error, 1)
			go func() { first <- s.Acquire(ctx, 1) }()
			synctest.Wait()
			go func() { second <- s.Acquire(t.Context(), 1) }()
			synctest.Wait()
			if i%2 == 0 {
				s.Release(1)
				cancel()
			} else {
				cancel()
				s.Release(1)
			}
			if err := <-first; err == nil {
				s.Release(1)
			}
			if err := <-second; err != nil {
				t.Fatal(err)
			}
			if s.InUse() != 1 {
				t.Fatalf("%d held, want 1", s.InUse())
			}
		}
	})
}

func TestSemaphoreRefusesWeightsThatCannotBe(t *testing.T) {
	s := NewSemaphore(3)
	for _, weight := range []int{-1, 4} {
		err := s.Acquire(t.Context(), weight)
		if err == nil || !strings.Contains(err.Error(), "must be from 0 to the size") {
			t.Errorf("Acquire(%d): %v", weight, err)
		}
		if s.TryAcquire(weight) {
			t.Errorf("TryAcquire(%d) succeeded", weight)
		}
	}
	if err := s.Acquire(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if !s.TryAcquire(3) || s.TryAcquire(1) {
		t.Error("TryAcquire takes what is free and no more")
	}
	if s.InUse() != 3 {
		t.Errorf("%d held, want 3", s.InUse())
	}
	s.Release(3)
}

func TestSemaphoreSetWhileInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(2)
		var order journal[int]
		refused := make(chan error, 1)
		for i, weight := range []int{2, 3, 1, 1} {
			go func() {
				if err := s.Acquire(t.Context(), weight); err != nil {
					refused <- err
					return
				}
				order.add(i)
				time.Sleep(time.Hour)
				s.Release(weight)
			}()
			synctest.Wait()
			if i == 0 {
				s.Set(3) // so that a weight of 3 is allowed
			}
		}
		want := func(held, waiting int, served ...int) {
			t.Helper()
			synctest.Wait()
			if s.InUse() != held || s.Waiting() != waiting || !slices.Equal(order.all(), served) {
				t.Errorf("%d held, %d waiting, served %v; want %d, %d, %v", s.InUse(), s.Waiting(), order.all(), held, waiting, served)
			}
		}
		want(2, 3, 0)
		s.Set(5) // the heavy caller fits, those behind it do not
		want(5, 2, 0, 1)
		s.Set(6)
		want(6, 1, 0, 1, 2)
		s.Set(1) // holders may finish
		if want(6, 1, 0, 1, 2); s.Size() != 1 || s.TryAcquire(1) {
			t.Errorf("size %d, or TryAcquire succeeded", s.Size())
		}
		time.Sleep(90 * time.Minute)
		want(1, 0, 0, 1, 2, 3)
		// A caller that waits for more than the new size gets an error, and those behind it continue.
		s.Set(3)
		heavy, light := make(chan error, 1), make(chan error, 1)
		go func() { heavy <- s.Acquire(t.Context(), 3) }()
		synctest.Wait()
		go func() { light <- s.Acquire(t.Context(), 1) }()
		synctest.Wait()
		s.Set(2)
		const text = "acquire 3 of a semaphore of size 2: the weight must be from 0 to the size"
		if err := <-heavy; err == nil || err.Error() != text {
			t.Errorf("got %v, want %q", err, text)
		}
		if err := <-light; err != nil {
			t.Error(err)
		}
		if len(refused) > 0 {
			t.Error(<-refused)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestSemaphoreOfTheLargestSize(t *testing.T) {
	s := NewSemaphore(math.MaxInt)
	if !s.TryAcquire(math.MaxInt - 1) {
		t.Fatal("TryAcquire failed although the weight is free")
	}
	if s.TryAcquire(2) {
		t.Error("TryAcquire acquired more than the size")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := s.Acquire(ctx, 2); !errors.Is(err, context.Canceled) || s.InUse() != math.MaxInt-1 {
		t.Errorf("got %v, %d held", err, s.InUse())
	}
}

// Whatever is acquired, held and canceled: never too much is held, no caller is overtaken, and nothing is lost.
func TestSemaphoreLaw(t *testing.T) {
	type caller struct{ Asks, Weight, Holds, GivesUp int }
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(r, "size")
		callers := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) caller {
			return caller{
				Asks:    rapid.IntRange(0, 8).Draw(r, "asks"),
				Weight:  rapid.IntRange(0, size).Draw(r, "weight"),
				Holds:   rapid.IntRange(0, 5).Draw(r, "holds"),
				GivesUp: rapid.IntRange(0, 12).Draw(r, "gives up"), // 0 is never
			}
		}), 1, 20).Draw(r, "callers")
		slices.SortStableFunc(callers, func(a, b caller) int { return a.Asks - b.Asks })

		const never = time.Duration(-1)
		granted := make([]time.Duration, len(callers))
		var over atomic.Bool
		left := 0
		synctest.Test(t, func(t *testing.T) {
			s, start := NewSemaphore(size), time.Now()
			_ = Run(t.Context(), func(ctx context.Context) error {
				for i, c := range callers {
					time.Sleep(time.Duration(c.Asks)*time.Second - time.Since(start))
					Go(ctx, func(ctx context.Context) error {
						granted[i] = never
						asking := ctx
						if c.GivesUp > 0 {
							var cancel context.CancelFunc
							asking, cancel = context.WithTimeout(ctx, time.Duration(c.GivesUp)*time.Second)
							defer cancel()
						}
						if s.Acquire(asking, c.Weight) != nil {
							return nil
						}
						granted[i] = time.Since(start)
						if s.InUse() > size {
							over.Store(true)
						}
						time.Sleep(time.Duration(c.Holds) * time.Second)
						s.Release(c.Weight)
						return nil
					})
					synctest.Wait() // so that the callers ask in the order of the list
				}
				return nil
			})
			left = s.InUse() + s.Waiting()
		})
		if over.Load() || left != 0 {
			r.Fatalf("held too much: %v; held or waiting at the end: %d", over.Load(), left)
		}
		last := time.Duration(0)
		for i, c := range callers {
			switch {
			case granted[i] == never && c.GivesUp == 0:
				r.Fatalf("caller %d got nothing", i)
			case granted[i] == never:
			case granted[i] < last:
				r.Fatalf("caller %d got it at %v, before one who had asked earlier, at %v", i, granted[i], last)
			default:
				last = granted[i]
			}
		}
	})
}
