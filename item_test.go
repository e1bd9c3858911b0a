package meanwhile_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

// An item's ctx is its own, whatever the item did with it: after the item, the ctx reports that the task has ended, no task
// can be started with it, and its path is still that of the item.
func TestItemHasItsOwnContext(t *testing.T) {
	for name, opts := range map[string][]StreamOption{
		"plain":     {Limit(1)},
		"several":   {Limit(4)},
		"timeout":   {Limit(1), Timeout(time.Hour)},
		"unordered": {Limit(4), Unordered()},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				var items journal[context.Context]
				opts = append(opts, Name("pages"))
				err := drain(Map(ctx, count(20), func(ctx context.Context, i int) (int, error) {
					items.add(ctx)
					if got, want := string(tasklog.AppendPath(ctx, nil)), fmt.Sprintf("pages/[%d]", i); got != want || ctx.Err() != nil {
						t.Errorf("while it runs: path %q, error %v, want %q", got, ctx.Err(), want)
					}
					return i, nil
				}, opts...))
				if err != nil {
					t.Fatal(err)
				}
				var paths []string
				for _, ctx := range items.all() {
					if cause := context.Cause(ctx); ctx.Err() != context.Canceled || cause == nil || cause.Error() != "the task has ended" {
						t.Errorf("after its item: %v, cause %v", ctx.Err(), cause)
					}
					select {
					case <-ctx.Done():
					default:
						t.Error("after its item, Done is open")
					}
					if text := panicText(func() { Go(ctx, func(context.Context) error { return nil }) }); !strings.Contains(text, "a task was started after") {
						t.Errorf("a task was started after the item: %s", text)
					}
					paths = append(paths, string(tasklog.AppendPath(ctx, nil)))
				}
				slices.Sort(paths)
				if len(slices.Compact(paths)) != 20 {
					t.Errorf("paths are not the items' own: %q", paths)
				}
			})
		})
	}
}

func panicText(fn func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	fn()
	return "no panic"
}

// An item whose wait ends with its timeout does not stop the next item.
func TestItemCancelsOnlyItself(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		results := 0
		for _, err := range Map(ctx, count(50), func(ctx context.Context, i int) (int, error) {
			if i%2 == 0 {
				return i, Sleep(ctx, time.Hour)
			}
			return i, nil
		}, Limit(1), Timeout(time.Minute)) {
			if even := results%2 == 0; even != (err != nil) {
				t.Errorf("item %d: %v", results, err)
			}
			results++
		}
		if results != 50 {
			t.Errorf("%d results", results)
		}
	})
}

// The cost of a stream depends on its items, not on its limit or its window.
func TestLargeLimitCostsNothing(t *testing.T) {
	small := bytesOf(func() { mapFive(Limit(5)) })
	for name, opts := range map[string][]StreamOption{
		"limit":     {Limit(1_000_000)},
		"window":    {Window(16_000_000)},
		"unordered": {Limit(1_000_000), Unordered()},
	} {
		if large := bytesOf(func() { mapFive(opts...) }); large > small+2048 {
			t.Errorf("%s: five items take %d bytes, %d with a limit of five", name, large, small)
		}
	}
}

func mapFive(opts ...StreamOption) {
	for range Map(context.Background(), count(5), same, opts...) {
	}
}

// bytesOf returns how many bytes fn allocates.
func bytesOf(fn func()) uint64 {
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		fn()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}

// BenchmarkFiveItems maps five items with limits of all sizes.
func BenchmarkFiveItems(b *testing.B) {
	for _, limit := range []int{1, 5, 64, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mapFive(Limit(limit))
			}
		})
	}
}

// Every place of a large window can be used, in order and out of order.
func TestLargeWindowIsFilled(t *testing.T) {
	for _, window := range []int{1, 2, 31, 32, 33, 64, 96, 100, 1000, 5000} {
		for _, opts := range [][]StreamOption{{Window(window), Limit(3)}, {Window(window), Limit(3), Unordered()}} {
			bubble(t, func(t *testing.T, ctx context.Context) {
				size := 1
				for size < window {
					size *= 2
				}
				n, ended := 0, 0
				for v, err := range Map(ctx, count(3*size+1), func(_ context.Context, i int) (int, error) {
					ended = i + 1
					return i, nil
				}, append(opts, Limit(1))...) {
					if v != n || err != nil {
						t.Fatalf("window %d: got %d, %v, want %d", window, v, err, n)
					}
					if n++; n == 1 {
						synctest.Wait()
						if ended < size || ended > size+1 {
							t.Errorf("window %d: %d items have ended while the loop had the first, want %d", window, ended, size)
						}
					}
				}
				if n != 3*size+1 {
					t.Errorf("window %d: %d results", window, n)
				}
			})
		}
	}
}
