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
	for range 2 { // as often as the sequence can
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

// From pulls no more of its sequence than the loop takes.
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

// A Map or a Batch that is left ends a Receive that waits, though neither the channel nor the context does.
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
