package group

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A recorder records what is flushed. Its flush takes a second and doubles numbers.
type recorder struct {
	mu      sync.Mutex
	batches [][]int
	running int
	most    int
	err     error
}

func (r *recorder) flush(ctx context.Context, in []int) ([]int, error) {
	r.mu.Lock()
	r.batches = append(r.batches, slices.Clone(in))
	r.running++
	r.most = max(r.most, r.running)
	err := r.err
	r.mu.Unlock()
	time.Sleep(time.Second)
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
	out := make([]int, len(in))
	for i, n := range in {
		out[i] = 2 * n
	}
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

func TestGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		g := New(4, 1, r.flush)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if got, err := g.Do(t.Context(), i); got != 2*i || err != nil {
					t.Errorf("Do(%d) = %d, %v", i, got, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		want := [][]int{{0}, {1, 2, 3, 4}, {5, 6, 7, 8}, {9}}
		if !slices.EqualFunc(r.batches, want, slices.Equal[[]int]) {
			t.Errorf("flushed %v, want %v", r.batches, want)
		}
		if got := time.Since(began); got != 4*time.Second {
			t.Errorf("took %v, want 4s", got)
		}
	})
}

// TestGather has callers that call again a little after they have returned. The first flush has one call; after that, a flush has the calls of all
// callers.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		g := New(100, 1, r.flush)
		g.Gather(10 * time.Millisecond)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for range 10 {
					if got, err := g.Do(t.Context(), i); got != 2*i || err != nil {
						t.Errorf("Do(%d) = %d, %v", i, got, err)
					}
					time.Sleep(time.Millisecond)
				}
			})
			if i == 0 {
				synctest.Wait() // until it leads
			}
		}
		wg.Wait()
		var sizes []int
		for _, b := range r.batches {
			sizes = append(sizes, len(b))
		}
		if want := []int{1, 16, 16, 16, 16, 16, 16, 16, 16, 16, 15}; !slices.Equal(sizes, want) {
			t.Errorf("flushed %v at once, want %v", sizes, want)
		}
	})
}

// TestGatherAlone: a caller that was alone in the last flush does not wait, and one whose companions do not come back waits no longer than d.
func TestGatherAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		g := New(100, 1, r.flush)
		g.Gather(10 * time.Millisecond)
		do := func() time.Duration {
			begun := time.Now()
			if _, err := g.Do(t.Context(), 1); err != nil {
				t.Error(err)
			}
			return time.Since(begun)
		}
		for range 3 {
			if got := do(); got != time.Second {
				t.Errorf("took %v, want 1s", got)
			}
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { do() })
			synctest.Wait() // the first is flushed alone, and the others together
		}
		wg.Wait()
		if got, want := do(), time.Second+10*time.Millisecond; got != want {
			t.Errorf("without its companions it took %v, want %v", got, want)
		}
		if got := do(); got != time.Second {
			t.Errorf("then it took %v, want 1s", got)
		}
	})
}

func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		g := New(100, 2, r.flush)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				for range 20 {
					if got, err := g.Do(t.Context(), i); got != 2*i || err != nil {
						t.Errorf("Do(%d) = %d, %v", i, got, err)
					}
				}
			})
		}
		wg.Wait()
		if r.most != 2 {
			t.Errorf("%d flushes ran at once, want 2", r.most)
		}
		n := 0
		for _, b := range r.batches {
			n += len(b)
		}
		if n != 1000 {
			t.Errorf("flushed %d, want 1000", n)
		}
		if g.leading != 0 || len(g.waiting) != 0 {
			t.Errorf("left %d leading and %d waiting", g.leading, len(g.waiting))
		}
	})
}

func TestCanceledBeforeFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		g := New(4, 1, r.flush)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(t.Context(), 1) })
		synctest.Wait()
		why := errors.New("no time")
		ctx, cancel := context.WithCancelCause(t.Context())
		wg.Go(func() {
			_, err := g.Do(ctx, 2)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || strings.Contains(err.Error(), "open") {
				t.Errorf("Do = %v, want that it is canceled because of %v", err, why)
			}
		})
		synctest.Wait()
		wg.Go(func() { _, _ = g.Do(t.Context(), 3) })
		synctest.Wait()
		cancel(why)
		wg.Wait()
		if want := [][]int{{1}, {3}}; !slices.EqualFunc(r.batches, want, slices.Equal[[]int]) {
			t.Errorf("flushed %v, want %v", r.batches, want)
		}
		if _, err := g.Do(ctx, 4); !errors.Is(err, why) {
			t.Errorf("Do with a canceled ctx = %v", err)
		}
	})
}

func TestCanceledDuringFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		g := New(4, 1, r.flush)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(t.Context(), 1) })
		synctest.Wait()
		wg.Go(func() { // leads the second flush: returns when that has ended
			if got, err := g.Do(ctx, 2); got != 4 || err != nil {
				t.Errorf("Do of the leader = %d, %v, want 4", got, err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			_, err := g.Do(ctx, 3)
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "outcome is open") {
				t.Errorf("Do of the follower = %v, want that it is canceled and open", err)
			}
		})
		time.Sleep(1500 * time.Millisecond)
		cancel()
		wg.Wait()
		if want := [][]int{{1}, {2, 3}}; !slices.EqualFunc(r.batches, want, slices.Equal[[]int]) {
			t.Errorf("flushed %v, want %v", r.batches, want)
		}
	})
}

// TestDetachedLeaderLeaves: a leader of detached flushes returns when its ctx is canceled. A flush of its call alone is canceled, and a flush of
// several calls continues for the others.
func TestDetachedLeaderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canceled := 0
		g := New(4, 1, func(ctx context.Context, in []int) ([]int, error) {
			select {
			case <-time.After(time.Second):
				return in, nil
			case <-ctx.Done():
				canceled++
				return nil, ctx.Err()
			}
		})
		g.Detach()
		var wg sync.WaitGroup
		leave := func(in int, after time.Duration) {
			ctx, cancel := context.WithCancelCause(t.Context())
			begun := time.Now()
			time.AfterFunc(after, func() { cancel(errLeft) })
			_, err := g.Do(ctx, in)
			if !errors.Is(err, errLeft) || !strings.Contains(err.Error(), "outcome is open") || time.Since(begun) != after {
				t.Errorf("Do of leader %d = %v after %v, want that it is canceled and open after %v", in, err, time.Since(begun), after)
			}
		}
		leave(1, time.Second/2)
		if canceled != 1 {
			t.Errorf("%d flushes were canceled, want only that of the single call", canceled)
		}
		wg.Go(func() { _, _ = g.Do(t.Context(), 2) })
		synctest.Wait()
		wg.Go(func() { leave(3, 3*time.Second/2) }) // leads the next flush, after a second
		synctest.Wait()
		wg.Go(func() {
			if got, err := g.Do(t.Context(), 4); got != 4 || err != nil {
				t.Errorf("Do of the follower = %d, %v, want 4", got, err)
			}
		})
		wg.Wait()
		if canceled != 1 || g.leading != 0 || len(g.waiting) != 0 {
			t.Errorf("%d flushes canceled, %d leading, %d waiting; want 1, 0, 0", canceled, g.leading, len(g.waiting))
		}
	})
}

var errLeft = errors.New("left")

// TestDetachedFlushPanics: a panic of a detached flush is an error of all of its calls, with the stack of the panic.
func TestDetachedFlushPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(4, 1, func(_ context.Context, in []int) ([]int, error) {
			time.Sleep(time.Second)
			if in[0] > 1 {
				panic("oh")
			}
			return in, nil
		})
		g.Detach()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(t.Context(), 1) })
		synctest.Wait()
		fails := func(in int) {
			_, err := g.Do(t.Context(), in)
			if !errors.Is(err, errPanicked) || !strings.Contains(err.Error(), ": oh\n") || !strings.Contains(err.Error(), "TestDetachedFlushPanics.func") {
				t.Errorf("Do(%d) = %v", in, err)
			}
		}
		wg.Go(func() { fails(2) }) // leads
		synctest.Wait()
		wg.Go(func() { fails(3) })
		wg.Wait()
		fails(4) // alone
	})
}

func TestLeadIsPassedOnByCanceled(t *testing.T) {
	r := new(recorder)
	g := New(4, 1, r.flush)
	canceled := &call[int, int]{wake: make(chan bool, 1)}
	next := &call[int, int]{wake: make(chan bool, 1)}
	g.waiting = []*call[int, int]{canceled, next}
	g.handOver()
	if g.leave(canceled) != leads || next.phase != leads || g.leading != 1 || len(g.waiting) != 1 {
		t.Errorf("leading %d, waiting %d, phase of the next %d: want 1, 1, %d", g.leading, len(g.waiting), next.phase, leads)
	}
}

func TestFlushFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{err: errors.New("disk full")}
		g := New(4, 1, r.flush)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if _, err := g.Do(t.Context(), i); !errors.Is(err, r.err) {
					t.Errorf("Do = %v, want %v", err, r.err)
				}
			})
		}
		wg.Wait()
	})
}

func TestWrongNumberOfResults(t *testing.T) {
	g := New(4, 1, func(context.Context, []int) ([]int, error) { return nil, nil })
	if _, err := g.Do(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "0 results for 1 calls") {
		t.Errorf("Do = %v", err)
	}
}

func TestFlushPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := true
		g := New(4, 1, func(_ context.Context, in []int) ([]int, error) {
			time.Sleep(time.Second)
			if panics && len(in) == 2 {
				panics = false
				panic("flush")
			}
			return in, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(t.Context(), 1) })
		synctest.Wait()
		wg.Go(func() {
			defer func() {
				if r := recover(); r != "flush" {
					t.Errorf("the leader recovered %v", r)
				}
			}()
			_, _ = g.Do(t.Context(), 2)
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := g.Do(t.Context(), 3); err == nil || !strings.Contains(err.Error(), "panicked") {
				t.Errorf("Do of the follower = %v", err)
			}
		})
		wg.Wait()
		if got, err := g.Do(t.Context(), 5); got != 5 || err != nil {
			t.Errorf("Do after the panic = %d, %v", got, err)
		}
	})
}

func BenchmarkDo(b *testing.B) {
	g := New(256, 2, func(_ context.Context, in []int) ([]int, error) { return in, nil })
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = g.Do(b.Context(), 1)
		}
	})
}
