package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

// A gauge knows how many of its functions run at the moment, and how many ran at most.
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

// now is how many run once nothing moves any more; in a bubble.
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
				for _, err := range Map(t.Context(), upTo(64), func(ctx context.Context, _ int) (Void, error) {
					return Void{}, g.hold(ctx, time.Second)
				}, opt) {
					if err != nil {
						t.Fatal(err)
					}
					items++
				}
				if g.most != 64 || items != 64 {
					t.Errorf("%d at once, %d results, want 64 of each", g.most, items)
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
					t.Errorf("%d at once for %v, error %v; want %d for 4 s", g.most, time.Since(start), err, c.want)
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
			limit.Set(7) // room for more, at once
			want(7)
			limit.Set(2) // what runs may finish
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

func TestLimiterBoundsEachOfItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, g := Limit(3), new(gauge)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			go func() {
				_ = Each(ctx, endless, func(ctx context.Context, _ int) error { return g.hold(ctx, time.Hour) }, limit)
			}()
		}
		if got := g.now(); got != 6 {
			t.Errorf("%d run, want 3 in each of two", got)
		}
		limit.Set(5)
		if got := g.now(); got != 10 {
			t.Errorf("%d run, want 5 in each of two", got)
		}
	})
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

// An adaptive limit goes on from what it was set to.
func TestLimiterSetIsWhereAnAdaptiveLimitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := AdaptiveLimit(1, 100)
		limit.Set(36)
		for range Map(t.Context(), upTo(36), func(ctx context.Context, _ int) (Void, error) {
			return Void{}, Sleep(ctx, time.Second)
		}, limit) {
		}
		if got := limit.Current(); got != 42 {
			t.Errorf("after a window without a queue it is %d, want 36 and its root", got)
		}
	})
}

func TestOverloaded(t *testing.T) {
	if err := Overloaded(nil); err != nil {
		t.Errorf("of nil: %v", err)
	}
	err := Overloaded(io.ErrUnexpectedEOF)
	if err.Error() != io.ErrUnexpectedEOF.Error() || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	// The mark counts, wrapped or not: a round of it halves the limit.
	for name, err := range map[string]error{"bare": err, "wrapped": fmt.Errorf("call: %w", err)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := AdaptiveLimit(1, 100)
				limit.Set(40)
				for range Map(t.Context(), upTo(40), func(ctx context.Context, _ int) (Void, error) {
					_ = Sleep(ctx, time.Second)
					return Void{}, err
				}, limit) {
				}
				if got := limit.Current(); got != 20 {
					t.Errorf("the limit is %d, want 20", got)
				}
			})
		})
	}
}
