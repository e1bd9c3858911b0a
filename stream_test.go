package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/retry"
)

// count returns a stream of 0 to n-1.
func count(n int) Stream[int] {
	return From(func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	})
}

func same(_ context.Context, i int) (int, error) { return i, nil }

func sleepy(d time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, i int) (int, error) { return i, Sleep(ctx, d) }
}

func wantValues[T comparable](t *testing.T, s Stream[T], want ...T) {
	t.Helper()
	got, err := Collect(s)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestMapKeepsTheOrder(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		wantValues(t, Map(ctx, count(5), func(ctx context.Context, i int) (int, error) {
			return i * i, Sleep(ctx, time.Duration(5-i)*time.Second)
		}), 0, 1, 4, 9, 16)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestMapUnordered(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wantValues(t, Map(ctx, count(5), func(ctx context.Context, i int) (int, error) {
			return i, Sleep(ctx, time.Duration(5-i)*time.Second)
		}, Unordered()), 4, 3, 2, 1, 0)
	})
}

func TestMapRunsNoMoreThanTheLimit(t *testing.T) {
	for _, limit := range []int{1, 2, 7, 64, 0} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				var opts []StreamOption
				want := limit
				if limit > 0 {
					opts = append(opts, Limit(limit))
				} else {
					want = 64
				}
				var running, most atomic.Int32
				start := time.Now()
				for _, err := range Map(ctx, count(500), func(ctx context.Context, i int) (int, error) {
					now := running.Add(1)
					defer running.Add(-1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					return i, Sleep(ctx, time.Second)
				}, opts...) {
					if err != nil {
						t.Fatal(err)
					}
				}
				rounds := (500 + want - 1) / want
				if took := time.Since(start); int(most.Load()) != want || took != time.Duration(rounds)*time.Second {
					t.Errorf("ran %d concurrently in %v, want %d in %d s", most.Load(), took, want, rounds)
				}
			})
		})
	}
}

func TestMapPullsOnlyWhatItCanStart(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var pulled atomic.Int32
		source := From(func(yield func(int) bool) {
			for yield(int(pulled.Add(1))) {
			}
		})
		next, stop := iter.Pull2(Map(ctx, source, sleepy(time.Second), Limit(4), Window(8)))
		defer stop()
		if n := pulled.Load(); n != 0 {
			t.Errorf("%d pulled before the loop", n)
		}
		_, _, _ = next()
		synctest.Wait()
		// The loop has one result, three more items have ended, four run.
		if n := pulled.Load(); n != 8 {
			t.Errorf("%d pulled, want 8", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := pulled.Load(); n != 9 {
			t.Errorf("%d pulled while the window of 8 is full and the loop has one", n)
		}
	})
}

// The stream continues to pull once a quarter of a full window is free. Until then it waits for its loop.
func TestTreeShowsAWindowThatIsAsGoodAsFull(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		_ = Run(ctx, func(ctx context.Context) error {
			for i, err := range Map(ctx, count(100), same, Limit(2), Window(16), Name("pages")) {
				synctest.Wait()
				tree := Tree(ctx)
				if len(tree.Tasks) != 1 || tree.Tasks[0].Wait.For != "full" {
					t.Errorf("while the loop has %d, %v:\n%s", i, err, tree)
				}
				if i == 20 {
					break
				}
			}
			return nil
		})
	})
}

func TestMapYieldsFailuresInTheirPlace(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		fn := func(ctx context.Context, in string) (int, error) {
			switch in {
			case "fail":
				return 0, errBoom
			case "panic":
				panic("bang")
			case "exit":
				runtime.Goexit()
			case "slow":
				return 0, Sleep(ctx, time.Hour)
			case "child":
				Go(ctx, fails(errBoom), Name("part"))
				return 3, nil
			}
			return len(in), nil
		}
		inputs := []string{"a", "fail", "bb", "panic", "exit", "slow", "child", "ccc"}
		var got []string
		for v, err := range Map(ctx, From(slices.Values(inputs)), fn, Timeout(time.Minute)) {
			text := fmt.Sprint(v)
			var item *ItemError
			if errors.As(err, &item) {
				text, _, _ = strings.Cut(err.Error(), "\n")
				if item.Input != any(inputs[item.Index]) {
					t.Errorf("item %d has the input %v", item.Index, item.Input)
				}
			}
			got = append(got, text)
		}
		want := []string{
			"1", "item 1: boom", "2", "item 3: panic: bang",
			"item 4: the function called runtime.Goexit (testing's FailNow, Fatal and Skip do: call them in the test's own goroutine)",
			"item 5: context deadline exceeded: the timeout of 1m0s is over",
			"item 6: task stream/[6]/part: boom", "3",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestMapPassesErrorsOfItsInputOn(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		first := Map(ctx, count(4), func(_ context.Context, i int) (int, error) {
			if i == 2 {
				return 0, errBoom
			}
			return i, nil
		}, Name("first"))
		var got []string
		for v, err := range Map(ctx, first, func(_ context.Context, i int) (int, error) { return i * 10, nil }) {
			got = append(got, fmt.Sprint(v, " ", err))
		}
		if want := []string{"0 <nil>", "10 <nil>", "0 item 2: boom", "30 <nil>"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

func TestMapEndsWithTheCauseWhenCanceled(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var errs []error
		n := 0
		for _, err := range Map(ctx, count(1000), sleepy(time.Second), Limit(10)) {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if n++; n == 25 {
				cancel(errors.New("enough"))
			}
		}
		if len(errs) != 1 {
			t.Fatalf("got errors %v", errs)
		}
		wantText(t, errs[0], "context canceled: enough")
		wantIs(t, errs[0], context.Canceled)
	})
}

// If an item only returned the error of the cancellation of its stream, it is not reported in addition, however close the
// two events are.
func TestMapCanceledTellsOnlyTheCancellation(t *testing.T) {
	checkCtx := func(ctx context.Context, i int) (int, error) { return i, ctx.Err() }
	loop := func(ctx context.Context) error {
		for _, err := range Map(ctx, endless, checkCtx, Limit(4)) {
			if _, ok := errors.AsType[*ItemError](err); ok {
				return fmt.Errorf("reported in addition to the cancellation of the stream: %w", err)
			}
		}
		return nil
	}
	for range 500 {
		ctx, cancel := context.WithCancelCause(t.Context())
		go cancel(errWhy)
		if err := loop(ctx); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		go cancel(errWhy)
		if err := Run(ctx, loop); err != nil {
			t.Fatalf("in a scope: %v", err)
		}
	}
}

func TestMapInAFailingScope(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			Go(ctx, sleepThen(5*time.Second, errBoom), Name("other"))
			for _, err := range Map(ctx, count(1000), sleepy(time.Second), Limit(10)) {
				if err != nil {
					return fmt.Errorf("page: %w", err)
				}
			}
			return nil
		})
		wantText(t, err, "task run/other: boom")
	})
}

func TestLeavingALoopCancelsAndWaits(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var ended atomic.Int32
		var cause atomic.Value
		pulled, stopped := 0, false
		source := From(func(yield func(int) bool) {
			defer func() { stopped = true }()
			for ; yield(pulled); pulled++ {
			}
		})
		start := time.Now()
		for range Map(ctx, source, func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				return 0, Sleep(ctx, time.Second)
			}
			<-ctx.Done()
			cause.Store(context.Cause(ctx))
			_ = Sleep(context.Background(), time.Minute) // takes some time to end
			ended.Add(1)
			return 0, ctx.Err()
		}, Limit(5)) {
			break
		}
		if ended.Load() != 4 && ended.Load() != 5 || time.Since(start) != time.Minute+time.Second || !stopped {
			t.Errorf("%d ended after %v, source stopped: %v", ended.Load(), time.Since(start), stopped)
		}
		if got := cause.Load().(error).Error(); got != "the loop over the stream has ended" {
			t.Errorf("cause %q", got)
		}
		before := pulled
		time.Sleep(time.Hour)
		if pulled != before {
			t.Error("pulled after the loop")
		}
	})
}

func TestPanicInTheLoop(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		defer func() {
			if r := recover(); r != "mine" {
				t.Errorf("recovered %v", r)
			}
		}()
		for range Map(ctx, count(100), sleepy(time.Second)) {
			panic("mine")
		}
	})
}

func TestPanicInTheSource(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("dry") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				source := From(func(yield func(int) bool) {
					yield(1)
					yield(2)
					end()
				})
				got, err := Collect(Map(ctx, source, same))
				if !slices.Equal(got, []int{1, 2}) || err == nil {
					t.Errorf("got %v, %v", got, err)
				}
			})
		})
	}
}

// A tardyContext reports its cancellation by Err and Done, but calls no function: the standard library calls them in a
// goroutine of its own, which may be late.
type tardyContext struct {
	context.Context
	done chan struct{}
}

func (c tardyContext) Done() <-chan struct{} { return c.done }

func (c tardyContext) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

func (c tardyContext) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

func TestStreamWhoseSourceObeysFirstIsCanceled(t *testing.T) {
	for name, stream := range map[string]func(context.Context, Stream[int]) Stream[int]{
		"Map": func(ctx context.Context, in Stream[int]) Stream[int] { return Map(ctx, in, same) },
		"Batch": func(ctx context.Context, in Stream[int]) Stream[int] {
			return Map(context.Background(), Batch(ctx, in, 10, 0), func(_ context.Context, b []int) (int, error) { return b[0], nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				late := tardyContext{ctx, make(chan struct{})}
				got, err := Collect(stream(late, func(yield func(int, error) bool) {
					yield(1, nil)
					synctest.Wait() // until the stream waits for more
					close(late.done)
				}))
				if !slices.Equal(got, []int{1}) || !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, %v", got, err)
				}
			})
		})
	}
}

func TestSourceThatDoesNotReturnWhenItIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		leave func()
		want  string
	}{
		"panic":  {func() { panic("cleanup") }, "panic: cleanup"},
		"Goexit": {runtime.Goexit, "the function called runtime.Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, func(ctx context.Context) error {
					Go(ctx, func(ctx context.Context) error {
						for range Map(ctx, func(yield func(int, error) bool) {
							defer c.leave()
							yield(1, nil)
						}, same, Window(1)) {
							break
						}
						return nil
					}, Name("loop"))
					return nil
				})
				if err == nil || !strings.HasPrefix(err.Error(), "task run/loop: "+c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		})
	}
}

// Leaving a loop immediately ends a source of this package that waits, through any number of streams.
func TestLeavingALoopEndsASourceThatWaits(t *testing.T) {
	sources := map[string]func(ctx context.Context, ch chan int) Stream[int]{
		"Receive": func(ctx context.Context, ch chan int) Stream[int] { return Receive(ctx, ch) },
		"Map":     func(ctx context.Context, ch chan int) Stream[int] { return Map(ctx, Receive(ctx, ch), same) },
		"Map of Map": func(ctx context.Context, ch chan int) Stream[int] {
			return Map(ctx, Map(ctx, Receive(ctx, ch), same), same)
		},
		"Map that waits in its function": func(ctx context.Context, ch chan int) Stream[int] {
			return Map(ctx, count(2), func(ctx context.Context, i int) (int, error) {
				if i == 0 {
					return i, nil
				}
				return i, Sleep(ctx, 1000*time.Hour)
			})
		},
		"Batch": func(ctx context.Context, ch chan int) Stream[int] {
			return Map(ctx, Batch(ctx, Receive(ctx, ch), 1, 0), func(_ context.Context, b []int) (int, error) { return b[0], nil })
		},
	}
	for name, source := range sources {
		for _, inScope := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in a scope %v", name, inScope), func(t *testing.T) {
				bubble(t, func(t *testing.T, ctx context.Context) {
					ch := make(chan int, 1)
					ch <- 0
					loop := func(ctx context.Context) error {
						for _, err := range Map(ctx, source(ctx, ch), same) {
							return err
						}
						return errors.New("nothing came")
					}
					var err error
					start := time.Now()
					if inScope {
						err = Run(ctx, loop)
					} else {
						err = loop(ctx)
					}
					if err != nil || time.Since(start) != 0 {
						t.Errorf("got %v after %v", err, time.Since(start))
					}
				})
			})
		}
	}
}

func TestMapCanBeRangedOverAgain(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		s := Map(ctx, count(3), same)
		wantValues(t, s, 0, 1, 2)
		wantValues(t, s, 0, 1, 2)
		wantValues(t, Map(ctx, count(0), same))
	})
}

func TestSlowHeadDoesNotStallTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start := time.Now()
		_, err := Collect(Map(ctx, count(160), func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				return i, Sleep(ctx, 16*time.Second)
			}
			return i, Sleep(ctx, time.Second)
		}, Limit(11)))
		if took := time.Since(start); err != nil || took != 16*time.Second {
			t.Errorf("got %v after %v, want 16s: ten others at a time", err, took)
		}
	})
}

func TestItemsAreTasks(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var inner atomic.Int32
		start := time.Now()
		wantValues(t, Map(ctx, count(3), func(ctx context.Context, i int) (int, error) {
			Go(ctx, func(ctx context.Context) error {
				defer inner.Add(1)
				return Sleep(ctx, time.Minute)
			})
			return i, nil
		}), 0, 1, 2)
		if inner.Load() != 3 || time.Since(start) != time.Minute {
			t.Errorf("%d inner tasks ended after %v", inner.Load(), time.Since(start))
		}
	})
}

// An item's ctx that was used ends with its item, even if the worker continues with other items.
func TestItemContextEndsWithItsItem(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var seen []context.Context
		wantValues(t, Map(ctx, count(3), func(ctx context.Context, i int) (int, error) {
			for _, old := range seen {
				if old.Err() == nil {
					t.Error("the ctx of an ended item is not canceled")
				}
			}
			ctx.Done()
			seen = append(seen, ctx)
			return i, nil
		}, Limit(1)), 0, 1, 2)
	})
}

func TestMapWithRetryAndRate(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var tries atomic.Int32
		start := time.Now()
		wantValues(t, Map(ctx, count(5), func(ctx context.Context, i int) (int, error) {
			if tries.Add(1)%2 == 1 {
				return 0, errBoom
			}
			return i, nil
		}, Limit(1), Retry(retry.Policy{Base: 10 * time.Second, Jitter: -1}), Rate(1, time.Minute)), 0, 1, 2, 3, 4)
		// Each attempt waits for a turn.
		if took := time.Since(start); took != 9*time.Minute || tries.Load() != 10 {
			t.Errorf("%d tries in %v, want 10 in 9 minutes", tries.Load(), took)
		}
	})
}

func TestLimitChangesWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		limit := Limit(2)
		var running, most atomic.Int32
		start := time.Now()
		at := map[time.Duration]int32{}
		for v, err := range Map(ctx, count(60), func(ctx context.Context, i int) (int, error) {
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			defer running.Add(-1)
			return i, Sleep(ctx, time.Second)
		}, limit, Window(64)) {
			if err != nil {
				t.Fatal(err)
			}
			switch v {
			case 5:
				at[time.Since(start)] = most.Load()
				limit.Set(10)
			case 25:
				at[time.Since(start)] = most.Load()
				limit.Set(1)
			case 40:
				most.Store(0)
			}
		}
		if at[3*time.Second] != 2 || at[5*time.Second] != 10 || most.Load() != 1 || limit.Current() != 1 {
			t.Errorf("most concurrent items %v, at the end %d", at, most.Load())
		}
	})
}

// A raised limit takes effect even while all items of the old limit are in long waits.
func TestLimitRaisedWhileAllWait(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		limit := Limit(1)
		time.AfterFunc(time.Second, func() { limit.Set(10) })
		start := time.Now()
		wantValues(t, Map(ctx, count(4), sleepy(time.Hour), limit), 0, 1, 2, 3)
		if took := time.Since(start); took != time.Hour+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestEach(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var sum atomic.Int64
		err := Each(ctx, count(100), func(ctx context.Context, i int) error {
			sum.Add(int64(i))
			return Sleep(ctx, time.Second)
		})
		if err != nil || sum.Load() != 4950 {
			t.Errorf("got %v, sum %d", err, sum.Load())
		}

		start := time.Now()
		err = Each(ctx, count(100), func(ctx context.Context, i int) error {
			if i == 7 {
				return errBoom
			}
			return Sleep(ctx, time.Hour)
		})
		wantText(t, err, "item 7: boom")
		if time.Since(start) != 0 {
			t.Errorf("the others were not canceled: %v", time.Since(start))
		}

		bad := func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, errBoom) && yield(2, nil) }
		wantText(t, Each(ctx, bad, func(context.Context, int) error { return nil }), "boom")
	})
}

func TestCollectStopsAtTheFirstError(t *testing.T) {
	bad := func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, errBoom) && yield(2, nil) }
	got, err := Collect(bad)
	if !slices.Equal(got, []int{1}) || err != errBoom {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestObserveItems(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		events := make(chan string, 20)
		_, _ = Collect(Map(ctx, count(2), same, Name("pages"), Limit(1), Observe(func(e Event) {
			events <- e.Kind.String() + " " + e.Path
		})))
		close(events)
		got := slices.Collect(func(yield func(string) bool) {
			for e := range events {
				yield(e)
			}
		})
		want := []string{
			"started pages", "started pages/[0]", "ended pages/[0]", "started pages/[1]", "ended pages/[1]", "ended pages",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}
