package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A streamPlan is a stream and a loop over it, drawn at random.
type streamPlan struct {
	items     []itemPlan
	limit     int
	window    int // 0 is the default
	unordered bool
	retry     bool
	timeout   bool
	breakAt   int // leave the loop after this many results; -1 is never
	slowLoop  bool
	inScope   bool
	twice     bool // a second Map after the first
}

type itemPlan struct {
	wait   time.Duration
	source time.Duration // how long the source takes to yield it
	end    string
}

func (p itemPlan) String() string { return fmt.Sprintf("{%v %v %s}", p.source, p.wait, p.end) }

func drawPlan(t *rapid.T) streamPlan {
	item := rapid.Custom(func(t *rapid.T) itemPlan {
		return itemPlan{
			wait:   time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 5, 100}).Draw(t, "wait")) * time.Millisecond,
			source: time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 50}).Draw(t, "source")) * time.Millisecond,
			end:    rapid.SampledFrom([]string{"ok", "ok", "ok", "ok", "fail", "panic", "source error", "use ctx", "child", "child fails"}).Draw(t, "end"),
		}
	})
	return streamPlan{
		items:     rapid.SliceOfN(item, 0, 60).Draw(t, "items"),
		limit:     rapid.SampledFrom([]int{1, 2, 3, 8, 64}).Draw(t, "limit"),
		window:    rapid.SampledFrom([]int{0, 0, 1, 2, 5, 100}).Draw(t, "window"),
		unordered: rapid.Bool().Draw(t, "unordered"),
		retry:     rapid.Bool().Draw(t, "retry"),
		timeout:   rapid.Bool().Draw(t, "timeout"),
		breakAt:   rapid.SampledFrom([]int{-1, -1, 1, 2, 7, 30}).Draw(t, "breakAt"),
		slowLoop:  rapid.Bool().Draw(t, "slowLoop"),
		inScope:   rapid.Bool().Draw(t, "inScope"),
		twice:     rapid.Bool().Draw(t, "twice"),
	}
}

func (p streamPlan) source() Stream[int] {
	return func(yield func(int, error) bool) {
		for i, item := range p.items {
			time.Sleep(item.source)
			var err error
			if item.end == "source error" {
				err = fmt.Errorf("source %d", i)
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

func (p streamPlan) apply(ctx context.Context, i int) (string, error) {
	item := p.items[i]
	if err := Sleep(ctx, item.wait); err != nil {
		return "", err
	}
	switch item.end {
	case "fail":
		return "", fmt.Errorf("fail %d", i)
	case "panic":
		panic(fmt.Sprint("panic ", i))
	case "use ctx":
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		<-afterDone(child, cancel)
	case "child":
		Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Millisecond) })
	case "child fails":
		Go(ctx, fails(fmt.Errorf("child %d", i)), Name("c"))
	}
	return fmt.Sprint("value ", i), nil
}

func afterDone(ctx context.Context, cancel func()) <-chan struct{} {
	cancel()
	return ctx.Done()
}

// plain returns the results of a plain loop, a text for each item.
func (p streamPlan) plain() []string {
	var results []string
	for i, item := range p.items {
		result := fmt.Sprint("value ", i)
		switch item.end {
		case "fail", "panic":
			result = fmt.Sprintf("item %d: %s %d", i, item.end, i)
		case "source error":
			result = fmt.Sprintf("source %d", i)
		case "child fails":
			result = fmt.Sprintf("item %d: child %d", i, i)
		}
		if item.wait == 100*time.Millisecond && p.timeout && item.end != "source error" {
			result = fmt.Sprintf("item %d: timeout", i)
		}
		results = append(results, result)
	}
	return results
}

// text returns the result of an item as a text in the form that plain uses.
func text(v string, err error) string {
	var item *ItemError
	var p *PanicError
	switch {
	case err == nil:
		return v
	case !errors.As(err, &item):
		return err.Error()
	case errors.As(err, &p):
		return fmt.Sprintf("item %d: %v", item.Index, p.Value)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("item %d: timeout", item.Index)
	}
	var task *TaskError
	if errors.As(err, &task) {
		return fmt.Sprintf("item %d: %v", item.Index, task.Err)
	}
	return strings.Replace(err.Error(), "after 2 attempts: ", "", 1)
}

// wantLost checks the failure of the scope around a loop: it is a panic that the loop did not receive, since it was left.
func (p streamPlan) wantLost(t *testing.T, got []string, err error) {
	t.Helper()
	var item *ItemError
	var lost *PanicError
	if !errors.As(err, &item) || !errors.As(err, &lost) || len(got) != p.breakAt {
		t.Errorf("the scope of the loop failed: %v", err)
	} else if slices.Contains(got, text("", err)) {
		t.Errorf("the scope of the loop failed with what the loop had already received: %v", err)
	}
}

// For any limit, window, failures, waits and break point: a Map yields what a plain loop would, in order or as a set, and
// leaks no goroutine (synctest fails if one is leaked).
func TestLawMapIsAPlainLoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		want := p.plain()
		var got []string
		synctest.Test(t, func(t *testing.T) {
			opts := []StreamOption{Limit(p.limit)}
			if p.window > 0 {
				opts = append(opts, Window(p.window))
			}
			if p.unordered {
				opts = append(opts, Unordered())
			}
			if p.retry {
				opts = append(opts, Retry(retry.Policy{Attempts: 2, Base: time.Microsecond}))
			}
			if p.timeout {
				opts = append(opts, Timeout(50*time.Millisecond))
			}
			loop := func(ctx context.Context) error {
				s := Map(ctx, p.source(), p.apply, opts...)
				if p.twice {
					s = Map(ctx, s, func(_ context.Context, v string) (string, error) { return v, nil }, Limit(p.limit))
				}
				for v, err := range s {
					got = append(got, text(v, err))
					if p.slowLoop {
						time.Sleep(3 * time.Millisecond)
					}
					if len(got) == p.breakAt {
						break
					}
				}
				return nil
			}
			if !p.inScope {
				_ = loop(context.Background())
			} else if err := Run(context.Background(), loop); err != nil {
				p.wantLost(t, got, err)
			}
		})
		n := len(want)
		if p.breakAt >= 0 {
			n = min(n, p.breakAt)
		}
		if len(got) != n {
			rt.Fatalf("got %d results, want %d: %q", len(got), n, got)
		}
		if !p.unordered {
			if !slices.Equal(got, want[:n]) {
				rt.Fatalf("got\n%q\nwant\n%q", got, want[:n])
			}
			return
		}
		left := slices.Clone(want)
		for _, g := range got {
			i := slices.Index(left, g)
			if i < 0 {
				rt.Fatalf("%q is not a result, or was yielded twice; want %q", g, want)
			}
			left = slices.Delete(left, i, i+1)
		}
	})
}

// At no time do more items run than the limit allows, or an item that is further from the oldest open one than the window
// allows.
func TestLawLimitAndWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(rt, "n")
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		window := rapid.IntRange(1, 40).Draw(rt, "window")
		size := 1
		for size < window {
			size *= 2
		}
		waits := rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(rt, "waits")
		synctest.Test(t, func(t *testing.T) {
			started := make(chan int, 1)
			started <- 0
			running, taken := 0, 0
			for v, err := range Map(context.Background(), count(n), func(ctx context.Context, i int) (int, error) {
				k := <-started
				running++
				if running > limit {
					t.Errorf("%d run, limit %d", running, limit)
				}
				if i > taken+size { // the stream counts a result as received before the body of the loop runs
					t.Errorf("item %d runs when %d were taken, window %d", i, taken, size)
				}
				started <- k
				err := Sleep(ctx, time.Duration(waits[i])*time.Millisecond)
				k = <-started
				running--
				started <- k
				return i, err
			}, Limit(limit), Window(window)) {
				if err != nil {
					t.Error(err)
				}
				k := <-started
				taken = v + 1
				started <- k
			}
		})
	})
}
