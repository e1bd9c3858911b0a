package meanwhile_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

// Package initialization runs on a locked thread.
var collectedInInit, errInInit = Collect(Map(context.Background(), count(5), same))

func TestStreamInInit(t *testing.T) {
	if want := []int{0, 1, 2, 3, 4}; errInInit != nil || !slices.Equal(collectedInInit, want) {
		t.Errorf("got %v, %v, want %v", collectedInInit, errInInit, want)
	}
}

// A stream works whichever threads its loop and its source are locked to, and whenever.
func TestStreamOnLockedThreads(t *testing.T) {
	for name, loop := range map[string]func(ctx context.Context) error{
		"the loop": func(ctx context.Context) error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			return drain(Map(ctx, count(100), same, Limit(4)))
		},
		"the loop, later": func(ctx context.Context) error {
			for i, err := range Map(ctx, count(100), same, Limit(4), Window(2)) {
				if err != nil {
					return err
				}
				if i == 50 {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
				}
			}
			return nil
		},
		"the loop, which is left": func(ctx context.Context) error {
			for range Map(ctx, endless, same, Limit(4)) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				break
			}
			return nil
		},
		"the source, which stays locked": func(ctx context.Context) error {
			return drain(Map(ctx, func(yield func(int, error) bool) {
				runtime.LockOSThread()
				count(100)(yield)
			}, same, Limit(4)))
		},
		"the source, for a value": func(ctx context.Context) error {
			return drain(Map(ctx, func(yield func(int, error) bool) {
				for i := range 100 {
					runtime.LockOSThread()
					more := yield(i, nil)
					runtime.UnlockOSThread()
					if !more {
						return
					}
				}
			}, same, Limit(4)))
		},
		"both": func(ctx context.Context) error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			return drain(Map(ctx, Map(ctx, func(yield func(int, error) bool) {
				runtime.LockOSThread()
				count(100)(yield)
			}, same), same))
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := make(chan error)
			go func() { result <- loop(t.Context()) }()
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

func drain[T any](in Stream[T]) error {
	_, err := Collect(in)
	return err
}

// The stack of a panic in the source contains the function that panicked.
func TestPanicInTheSourceKeepsItsStack(t *testing.T) {
	for name, stream := range map[string]Stream[int]{
		"Map":           Map(t.Context(), panicsInIt, same),
		"Map of Map":    Map(t.Context(), Map(t.Context(), panicsInIt, same), same),
		"Filter in Map": Map(t.Context(), Filter(panicsInIt, func(int) bool { return true }), same),
		"Map of Batch": Map(t.Context(), Batch(t.Context(), panicsInIt, 1, 0), func(_ context.Context, b []int) (int, error) {
			return b[0], nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Collect(stream)
			p, ok := errors.AsType[*PanicError](err)
			if !ok || p.Value != "dry" || !strings.Contains(string(p.Stack), "panicsInIt") || !slices.Equal(got, []int{1}) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func panicsInIt(yield func(int, error) bool) {
	yield(1, nil)
	panic("dry")
}

// A panic of a source while its loop is left, or before, is repeated by the loop, with its stack.
func TestPanicOfASourceThatIsLeft(t *testing.T) {
	leaves := func(yield func(int, error) bool) {
		defer func() { panicsInIt(func(int, error) bool { return true }) }()
		endless(yield)
	}
	batches := func(ctx context.Context, in Stream[int]) Stream[int] {
		return func(yield func(int, error) bool) {
			for b, err := range Batch(ctx, in, 1, 0) {
				if !yield(b[0], err) {
					return
				}
			}
		}
	}
	maps := func(ctx context.Context, in Stream[int]) Stream[int] { return Map(ctx, in, same) }
	for name, stream := range map[string]func(ctx context.Context) Stream[int]{
		"Map, when it is left":       func(ctx context.Context) Stream[int] { return maps(ctx, leaves) },
		"Map, before":                func(ctx context.Context) Stream[int] { return maps(ctx, panicsInIt) },
		"Map of Map":                 func(ctx context.Context) Stream[int] { return maps(ctx, maps(ctx, leaves)) },
		"Batch, when it is left":     func(ctx context.Context) Stream[int] { return batches(ctx, leaves) },
		"Batch, before":              func(ctx context.Context) Stream[int] { return batches(ctx, panicsInIt) },
		"Map of Filter, when left":   func(ctx context.Context) Stream[int] { return maps(ctx, Filter(leaves, isAny)) },
		"Map of Generate, when left": func(ctx context.Context) Stream[int] { return maps(ctx, Generate(ctx, generatePanic)) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				err := Run(ctx, func(ctx context.Context) error {
					for range stream(ctx) {
						synctest.Wait()
						break
					}
					return nil
				})
				p, ok := errors.AsType[*PanicError](err)
				if !ok || p.Value != "dry" || !strings.Contains(string(p.Stack), "panicsInIt") && !strings.Contains(string(p.Stack), "generatePanic") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func isAny(int) bool { return true }

func generatePanic(_ context.Context, yield func(int) bool) error {
	for yield(1) {
	}
	panic("dry")
}

// The panic of a source is reported beside the cancellation that the source met.
func TestPanicOfASourceThatIsCanceled(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		source := func(yield func(int, error) bool) {
			defer func() { panic(errTooMuch) }()
			endless(yield)
		}
		var last error
		for _, err := range Map(ctx, source, same, Limit(2), Window(2)) {
			last = err
			cancel(errWhy)
		}
		if !errors.Is(last, errWhy) || !errors.Is(last, context.Canceled) || !errors.Is(last, errTooMuch) {
			t.Errorf("got %v, want the cancellation, its cause, and the panic", last)
		}
	})
}

// A source that continues after yield returned false would keep the loop from ever ending.
func TestSourceThatGoesOnAfterItsLoop(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			for range Map(ctx, func(yield func(int, error) bool) {
				for i := 0; ; i++ {
					yield(i, nil)
				}
			}, same) {
				break
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "a source called yield again after it had returned false") {
			t.Errorf("got %v", err)
		}
	})
}

// Leaving the loop waits until the source has returned.
func TestLeavingWaitsForTheSource(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		start, returned := time.Now(), false
		for range Map(ctx, func(yield func(int, error) bool) {
			endless(yield)
			time.Sleep(time.Hour)
			returned = true
		}, same) {
			break
		}
		if !returned || time.Since(start) != time.Hour {
			t.Errorf("after the loop, the source has returned: %v, after %v", returned, time.Since(start))
		}
	})
}

// With a rate, one value waits for its turn, and nothing is pulled after it.
func TestRatePullsOneValueAhead(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		var pulled atomic.Int64
		source := From(func(yield func(int) bool) {
			for yield(int(pulled.Load())) {
				pulled.Add(1)
			}
		})
		start := time.Now()
		for i, err := range Map(ctx, source, same, Rate(1, time.Minute)) {
			synctest.Wait()
			if err != nil || pulled.Load() != int64(i+1) || time.Since(start) != time.Duration(i)*time.Minute {
				t.Errorf("item %d came after %v, %v, while the source was at %d", i, time.Since(start), err, pulled.Load())
			}
			if i == 5 {
				break
			}
		}
	})
}
