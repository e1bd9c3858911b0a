package meanwhile_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

func TestFrom(t *testing.T) {
	in := From(slices.Values([]string{"a", "b", "c"}))
	for range 2 { // as often as the sequence allows
		got, err := Collect(in)
		if want := []string{"a", "b", "c"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	keys, err := Collect(From(maps.Keys(map[int]bool{1: true, 2: true})))
	if slices.Sort(keys); err != nil || !slices.Equal(keys, []int{1, 2}) {
		t.Errorf("got %v, %v", keys, err)
	}
	for v := range in {
		if v == "b" {
			break
		}
		if v != "a" {
			t.Errorf("got %q", v)
		}
	}
}

// From pulls no more of its sequence than the loop does.
func TestFromLeftPullsNothingMore(t *testing.T) {
	pulled := 0
	in := From(func(yield func(int) bool) {
		for {
			pulled++
			if !yield(pulled) {
				return
			}
		}
	})
	for v := range in {
		if v == 3 {
			break
		}
	}
	if pulled != 3 {
		t.Errorf("pulled %d, want 3", pulled)
	}
}

func TestReceiveEndsWithTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int)
		go func() {
			for i := range 3 {
				time.Sleep(time.Second)
				ch <- i
			}
			close(ch)
		}()
		got, err := Collect(Receive(t.Context(), ch))
		if want := []int{0, 1, 2}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

func TestReceiveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("reason")
		ch := make(chan int, 1)
		ch <- 7
		go func() {
			time.Sleep(time.Second)
			cancel(reason)
		}()
		var values []int
		var errs []error
		for v, err := range Receive(ctx, ch) {
			values, errs = append(values, v), append(errs, err)
		}
		if !slices.Equal(values, []int{7, 0}) || errs[0] != nil || !errors.Is(errs[1], reason) || !errors.Is(errs[1], context.Canceled) {
			t.Errorf("got %v, %v, want 7 and then the context's error with its cause", values, errs)
		}
	})
}

func TestReceiveLeftStaysLeft(t *testing.T) {
	ch := make(chan int, 3)
	ch <- 1
	ch <- 2
	for range Receive(t.Context(), ch) {
		break
	}
	if len(ch) != 1 {
		t.Errorf("%d values are left in the channel, want 1", len(ch))
	}
}

// Leaving a Map or a Batch ends a Receive that waits, although neither the channel nor the context ends.
func TestReceiveEndsWithTheStreamThatPullsIt(t *testing.T) {
	for name, loop := range map[string]func(ctx context.Context, in Stream[int]){
		"Map": func(ctx context.Context, in Stream[int]) {
			for range Map(ctx, in, func(_ context.Context, i int) (int, error) { return i, nil }) {
				break
			}
		},
		"Batch": func(ctx context.Context, in Stream[int]) {
			for range Batch(ctx, in, 1, 0) {
				break
			}
		},
		"Each": func(ctx context.Context, in Stream[int]) {
			if err := Each(ctx, in, func(context.Context, int) error { return errTooMuch }); !errors.Is(err, errTooMuch) {
				panic(err)
			}
		},
		"Map of a Map": func(ctx context.Context, in Stream[int]) {
			same := func(_ context.Context, i int) (int, error) { return i, nil }
			for range Map(ctx, Map(context.Background(), in, same), same) {
				break
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := make(chan int)
				go func() { ch <- 1 }()
				start := time.Now()
				loop(t.Context(), Receive(context.Background(), ch))
				if got := time.Since(start); got != 0 {
					t.Errorf("it took %v", got)
				}
			})
		})
	}
}

func TestGenerate(t *testing.T) {
	numbers := func(n int, err error) func(context.Context, func(int) bool) error {
		return func(_ context.Context, yield func(int) bool) error {
			for i := range n {
				if !yield(i) {
					return errTooMuch
				}
			}
			return err
		}
	}
	wantValues(t, Generate(t.Context(), numbers(3, nil)), 0, 1, 2)
	got, err := Collect(Generate(t.Context(), numbers(2, errBoom)))
	if !slices.Equal(got, []int{0, 1}) || err != errBoom {
		t.Errorf("got %v, %v, want the error last", got, err)
	}
	for v, err := range Generate(t.Context(), numbers(3, nil)) { // what fn returns after the loop was left is dropped
		if v == 1 {
			break
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// The ctx of a generator ends with its stream: when the loop is left, when the loop over a stream of it is left, and with
// the generator's own ctx.
func TestGenerateEndsItsContext(t *testing.T) {
	for name, loop := range map[string]func(ctx context.Context, cancel context.CancelCauseFunc, in Stream[int]) (last error){
		"a plain loop is left": func(_ context.Context, _ context.CancelCauseFunc, in Stream[int]) error {
			for range in {
				break
			}
			return context.Canceled
		},
		"a plain loop has come to its end": func(_ context.Context, _ context.CancelCauseFunc, in Stream[int]) error {
			for range Take(in, 1) {
			}
			return context.Canceled
		},
		"a stream over it is left": func(ctx context.Context, _ context.CancelCauseFunc, in Stream[int]) error {
			for range Map(ctx, Filter(in, isAny), same) {
				break
			}
			return context.Canceled
		},
		"its ctx is canceled": func(_ context.Context, cancel context.CancelCauseFunc, in Stream[int]) (last error) {
			for _, err := range in {
				last = err
				cancel(errWhy)
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				var inner context.Context
				start := time.Now()
				last := loop(ctx, cancel, Generate(ctx, func(ctx context.Context, yield func(int) bool) error {
					inner = ctx
					for i := 0; yield(i); i++ {
						if err := Sleep(ctx, time.Hour); err != nil {
							return err
						}
					}
					return nil
				}))
				if inner.Err() == nil || !errors.Is(last, context.Canceled) || time.Since(start) != 0 {
					t.Errorf("ctx %v, last %v, after %v", inner.Err(), last, time.Since(start))
				}
				if name == "its ctx is canceled" && !errors.Is(last, errWhy) {
					t.Errorf("got %v, want the cause", last)
				}
			})
		})
	}
}

// A generator that returns nil when it is canceled does not look like one that has finished.
func TestGenerateTellsItsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := Collect(Generate(ctx, func(ctx context.Context, yield func(int) bool) error {
		cancel(errWhy)
		<-ctx.Done()
		return nil
	}))
	if !errors.Is(err, errWhy) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
