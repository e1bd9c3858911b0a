package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A gauge counts how many of its functions run at the moment, and how many have run concurrently at most.
type gauge struct {
	mu            sync.Mutex
	running, most int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += n
	g.most = max(g.most, g.running)
}

func (g *gauge) hold(ctx context.Context, d time.Duration) error {
	g.add(1)
	defer g.add(-1)
	return Sleep(ctx, d)
}

// now returns how many run once all goroutines of the bubble are blocked.
func (g *gauge) now() int {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

func TestLimitsThatAreNone(t *testing.T) {
	for name, opt := range map[string]StreamOption{
		"limit":         Limit(math.MaxInt),
		"adaptive":      AdaptiveLimit(1, math.MaxInt),
		"adaptive, set": AdaptiveLimit(math.MaxInt, math.MaxInt),
		"window":        Window(math.MaxInt),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if l, ok := opt.(*Limiter); ok {
					l.Set(math.MaxInt)
				}
				g, items := new(gauge), 0
				for _, err := range Map(t.Context(), upTo(64), func(ctx context.Context, _ int) (struct{}, error) {
					return struct{}{}, g.hold(ctx, time.Second)
				}, opt) {
					if err != nil {
						t.Fatal(err)
					}
					items++
				}
				if g.most != 64 || items != 64 {
					t.Errorf("%d ran concurrently, %d results, want 64 of each", g.most, items)
				}
			})
		})
	}
}

func TestLimitBoundsAStream(t *testing.T) {
	for name, c := range map[string]struct {
		opts []StreamOption
		want int
	}{
		"3":       {[]StreamOption{Limit(3)}, 3},
		"default": {nil, 64},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, start := new(gauge), time.Now()
				err := Each(t.Context(), upTo(4*c.want), func(ctx context.Context, _ int) error {
					return g.hold(ctx, time.Second)
				}, c.opts...)
				if err != nil || g.most != c.want || time.Since(start) != 4*time.Second {
					t.Errorf("%d ran concurrently for %v, error %v; want %d for 4 s", g.most, time.Since(start), err, c.want)
				}
			})
		})
	}
}

func TestLimiterSetWhileAStreamRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, g := Limit(4), new(gauge)
		err := Run(t.Context(), func(ctx context.Context) error {
			stream := Go(ctx, func(ctx context.Context) error {
				return Each(ctx, endless, func(ctx context.Context, i int) error {
					return g.hold(ctx, time.Duration(10+i%4)*time.Second)
				}, limit)
			})
			want := func(n int) {
				t.Helper()
				if got := g.now(); got != n || limit.Current() > n {
					t.Errorf("%d run under a limit of %d, want %d", got, limit.Current(), n)
				}
			}
			want(4)
			limit.Set(7) // three more items start immediately
			want(7)
			limit.Set(2) // running items may finish
			if got := g.now(); got != 7 {
				t.Errorf("%d run right after the limit was lowered, want 7", got)
			}
			time.Sleep(time.Minute)
			want(2)
			limit.Set(5)
			want(5)
			stream.Cancel(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestLimiterRaisedIsBoundByTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, g := Limit(2), new(gauge)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = Each(ctx, endless, func(ctx context.Context, _ int) error { return g.hold(ctx, time.Hour) }, limit, Window(8))
		}()
		synctest.Wait()
		limit.Set(100)
		if got := g.now(); got != 8 {
			t.Errorf("%d run, want 8, the window", got)
		}
	})
}

func TestLimiterBoundsItsStreamsTogether(t *testing.T) {
	for name, limit := range map[string]*Limiter{"fixed": Limit(4), "adaptive": AdaptiveLimit(4, 8)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := [2]*gauge{new(gauge), new(gauge)}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan struct{}, 2)
				for i := range 2 {
					go func() {
						_ = Each(ctx, endless, func(ctx context.Context, _ int) error { return g[i].hold(ctx, time.Hour) }, limit)
						ended <- struct{}{}
					}()
				}
				want := func(n int) {
					t.Helper()
					if got := g[0].now() + g[1].now(); got != n {
						t.Errorf("%d run, want %d in both together", got, n)
					}
				}
				want(4)
				limit.Set(6)
				want(6)
				limit.Set(4)
				want(6) // running items may finish
				time.Sleep(90 * time.Minute)
				want(4)
				if a, b := g[0].now(), g[1].now(); a == 0 || b == 0 {
					t.Errorf("%d and %d run, want at least one of each", a, b)
				}
				cancel()
				<-ended
				<-ended
				// All places are free again.
				left := new(gauge)
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
				go func() {
					_ = Each(ctx, endless, func(ctx context.Context, _ int) error { return left.hold(ctx, time.Hour) }, limit)
					ended <- struct{}{}
				}()
				if got := left.now(); got != 4 {
					t.Errorf("%d run afterwards, want 4", got)
				}
				cancel()
				<-ended
			})
		})
	}
}

// A stream that waits for its source, or for the loop, occupies no place.
func TestLimiterIsNotHeldByAStreamThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, never := Limit(1), make(chan int)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = Each(ctx, Receive(ctx, never), func(context.Context, int) error { return nil }, limit)
		}()
		synctest.Wait()
		// Two stages of a pipeline share the limit, and neither keeps a place that the other needs.
		double := func(_ context.Context, i int) (int, error) { return 2 * i, nil }
		got, err := Collect(Map(ctx, Map(ctx, upTo(5), double, limit), double, limit))
		if err != nil || !slices.Equal(got, []int{0, 4, 8, 12, 16}) {
			t.Errorf("got %v, %v", got, err)
		}
		cancel()
		<-done
	})
}

// An item that panics, fails, times out or ends its goroutine releases its place.
func TestLimiterPlacesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := Limit(2)
		for range Map(t.Context(), upTo(40), func(ctx context.Context, i int) (int, error) {
			switch i % 4 {
			case 0:
				panic("oops")
			case 1:
				runtime.Goexit()
			case 2:
				return 0, errTooMuch
			}
			return i, Sleep(ctx, time.Hour)
		}, limit, Timeout(time.Minute)) {
		}
		start := time.Now()
		if err := Each(t.Context(), upTo(4), func(ctx context.Context, _ int) error { return Sleep(ctx, time.Second) }, limit); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("four items of a second took %v, want 2 s", got)
		}
	})
}

func TestLimiterInsideAnItemPanics(t *testing.T) {
	limit := Limit(3)
	nested := func(ctx context.Context, _ int) error {
		return Run(ctx, func(ctx context.Context) error {
			return Each(ctx, upTo(1), func(context.Context, int) error { return nil }, limit)
		})
	}
	err := Each(t.Context(), upTo(1), nested, limit, Name("outer"))
	var p *PanicError
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "outer, which has the same Limiter") || !strings.Contains(err.Error(), "of its own") {
		t.Errorf("got %v, want a panic that names the outer stream", err)
	}
	if err := Each(t.Context(), upTo(1), nested, Limit(3)); err != nil {
		t.Errorf("with another limiter: %v", err)
	}
}

func TestLimiterMethodsAtOnce(t *testing.T) {
	for name, limit := range map[string]*Limiter{"fixed": Limit(1), "adaptive": AdaptiveLimit(1, 50)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := Run(t.Context(), func(ctx context.Context) error {
					for i := range 4 {
						Go(ctx, func(context.Context) error {
							for n := range 50 {
								limit.Set(1 + (n*7+i)%40)
								if got := limit.Current(); got < 1 || got > 50 {
									t.Errorf("limit %d", got)
								}
								time.Sleep(time.Millisecond)
							}
							return nil
						})
					}
					return Each(ctx, upTo(500), func(ctx context.Context, i int) error {
						return Sleep(ctx, time.Duration(i%5)*time.Millisecond)
					}, limit)
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestLimiterSetAndCurrent(t *testing.T) {
	fixed := Limit(5)
	if got := fixed.Current(); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
	if fixed.Set(9); fixed.Current() != 9 {
		t.Errorf("got %d, want 9", fixed.Current())
	}
	adaptive := AdaptiveLimit(4, 10)
	for _, c := range []struct{ set, want int }{{7, 7}, {1, 4}, {99, 10}} {
		if adaptive.Set(c.set); adaptive.Current() != c.want {
			t.Errorf("an adaptive limit from 4 to 10, set to %d, is %d, want %d", c.set, adaptive.Current(), c.want)
		}
	}
}

// An adaptive limit continues from the number that was set.
func TestLimiterSetIsWhereAnAdaptiveLimitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 100)
		limit.Set(36)
		for range Map(t.Context(), upTo(36), func(ctx context.Context, _ int) (struct{}, error) {
			return struct{}{}, Sleep(ctx, time.Second)
		}, limit) {
		}
		if got := limit.Current(); got != 37 {
			t.Errorf("after a window without a queue it is %d, want 37", got)
		}
	})
}

func TestOverloaded(t *testing.T) {
	err := retry.Overloaded(io.ErrUnexpectedEOF)
	// A wrapped mark has the same effect as a bare one: if all items are refused, the limit is halved.
	for name, err := range map[string]error{"bare": err, "wrapped": fmt.Errorf("call: %w", err)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := AdaptiveLimit(1, 100)
				limit.Set(40)
				for range Map(t.Context(), upTo(40), func(ctx context.Context, _ int) (struct{}, error) {
					_ = Sleep(ctx, time.Second)
					return struct{}{}, err
				}, limit) {
				}
				if got := limit.Current(); got != 20 {
					t.Errorf("the limit is %d, want 20", got)
				}
			})
		})
	}
}
