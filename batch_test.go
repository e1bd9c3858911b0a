package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
)

// A batched is a batch or an error that a Batch yielded, and when.
type batched struct {
	values []int
	err    error
	at     time.Duration
}

func (b batched) String() string { return fmt.Sprint(b.at, " ", b.values, " ", b.err) }

func batchAll(in Stream[[]int]) (all []batched) {
	start := time.Now()
	for values, err := range in {
		all = append(all, batched{values, err, time.Since(start)})
	}
	return all
}

// A timedSource is a source; each of its steps is a pause, then a value or an error.
type timedSource []struct {
	Pause time.Duration
	Value int
	Err   error
}

func (f timedSource) stream(yield func(int, error) bool) {
	for _, step := range f {
		time.Sleep(step.Pause)
		if !yield(step.Value, step.Err) {
			return
		}
	}
}

func TestBatchYieldsAtItsSizeItsWaitAndTheEnd(t *testing.T) {
	const s = time.Second
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		source timedSource
		size   int
		wait   time.Duration
		want   []batched
	}{
		"nothing":  {nil, 2, s, nil},
		"size":     {timedSource{{0, 1, nil}, {0, 2, nil}, {s, 3, nil}, {0, 4, nil}}, 2, 0, []batched{{[]int{1, 2}, nil, 0}, {[]int{3, 4}, nil, s}}},
		"end":      {timedSource{{0, 1, nil}, {s, 2, nil}, {s, 3, nil}}, 2, 0, []batched{{[]int{1, 2}, nil, s}, {[]int{3}, nil, 2 * s}}},
		"for ever": {timedSource{{0, 1, nil}, {1e6 * s, 2, nil}}, 2, 0, []batched{{[]int{1, 2}, nil, 1e6 * s}}},
		"wait since the first value": {
			timedSource{{5 * s, 1, nil}, {2 * s, 2, nil}, {2 * s, 3, nil}, {9 * s, 4, nil}},
			10, 3 * s,
			[]batched{{[]int{1, 2}, nil, 8 * s}, {[]int{3}, nil, 12 * s}, {[]int{4}, nil, 18 * s}},
		},
		"full before the wait is over": {
			timedSource{{0, 1, nil}, {s, 2, nil}, {s, 3, nil}, {9 * s, 4, nil}},
			2, 3 * s,
			[]batched{{[]int{1, 2}, nil, s}, {[]int{3}, nil, 5 * s}, {[]int{4}, nil, 11 * s}},
		},
		"an error comes after what was before it": {
			timedSource{{0, 1, nil}, {s, 0, bad}, {0, 0, bad}, {s, 2, nil}, {0, 3, nil}, {0, 0, bad}},
			2, 0,
			[]batched{{[]int{1}, nil, s}, {nil, bad, s}, {nil, bad, s}, {[]int{2, 3}, nil, 2 * s}, {nil, bad, 2 * s}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := batchAll(Batch(t.Context(), c.source.stream, c.size, c.wait))
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestBatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(reason)
		}()
		never := make(chan int)
		in := func(yield func(int, error) bool) {
			if yield(1, nil) {
				Receive(ctx, never)(yield)
			}
		}
		got := batchAll(Batch(ctx, in, 2, 0))
		if len(got) == 0 || !slices.Equal(got[0].values, []int{1}) {
			t.Fatalf("got %v, want the value before the cancellation first", got)
		}
		last := got[len(got)-1]
		if !errors.Is(last.err, reason) || !errors.Is(last.err, context.Canceled) || last.at != time.Second {
			t.Errorf("got %v, want the context's error and its cause after 1 s", last)
		}
	})
}

// The error is also yielded last when the source ends because of the same cancellation while the loop is busy.
func TestBatchEndsWithItsContextWhileTheLoopIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := 0
		for range 50 {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			reason := errors.New("reason")
			var last error
			for _, err := range Batch(ctx, endless, 2, 0) {
				last = err
				if err == nil {
					cancel(reason)
					synctest.Wait()
				}
			}
			if !errors.Is(last, reason) {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d of 50 canceled loops ended as if the source had ended, want 0", lost)
		}
	})
}

func TestBatchOfACanceledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("reason")
		cancel(reason)
		got := batchAll(Batch(ctx, Receive(t.Context(), make(chan int)), 2, 0))
		if len(got) != 1 || !errors.Is(got[0].err, reason) {
			t.Errorf("got %v, want only the cause", got)
		}
	})
}

func TestBatchLeftEndsItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		in := func(yield func(int, error) bool) {
			defer func() { ended = true }()
			endless(yield)
		}
		for range Batch(t.Context(), in, 3, time.Second) {
			break
		}
		if !ended {
			t.Error("the source had not ended when the loop was left")
		}
		// The loop is left at an error, and at the batch before it.
		failing := timedSource{{0, 1, nil}, {0, 0, errTooMuch}, {0, 2, nil}}
		for leaveAt := 1; leaveAt <= 3; leaveAt++ {
			seen := 0
			for range Batch(t.Context(), failing.stream, 3, 0) {
				if seen++; seen == leaveAt {
					break
				}
			}
			if seen != leaveAt {
				t.Errorf("yielded %d times, want %d", seen, leaveAt)
			}
		}
		// The loop is left when the wait is over.
		for range Batch(t.Context(), timedSource{{0, 1, nil}, {time.Hour, 2, nil}}.stream, 3, time.Second) {
			break
		}
	})
}

// Leaving a loop over a Map over a Batch over a Receive ends all three, even if the channel stays silent.
func TestBatchEndsWithTheStreamThatPullsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int, 1)
		ch <- 1
		batches := Batch(context.Background(), Receive(context.Background(), ch), 1, 0)
		for sum, err := range Map(t.Context(), batches, func(_ context.Context, b []int) (int, error) { return b[0], nil }) {
			if sum != 1 || err != nil {
				t.Error(sum, err)
			}
			break
		}
	})
}

func TestBatchYieldsThePanicOfItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := batchAll(Batch(t.Context(), func(yield func(int, error) bool) {
			yield(1, nil)
			panic(errTooMuch)
		}, 2, 0))
		if len(got) != 2 || !slices.Equal(got[0].values, []int{1}) {
			t.Fatalf("got %v, want the value before the panic, then the panic", got)
		}
		var p *PanicError
		if !errors.As(got[1].err, &p) || !errors.Is(got[1].err, errTooMuch) {
			t.Errorf("got %v, want a PanicError", got[1].err)
		}
	})
}

// A source that calls Goexit, as FailNow does, must not look like one that has ended.
func TestBatchYieldsTheGoexitOfItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := batchAll(Batch(t.Context(), func(yield func(int, error) bool) {
			yield(1, nil)
			runtime.Goexit()
		}, 2, 0))
		if len(got) != 2 || got[1].err == nil {
			t.Errorf("got %v, want the value before the Goexit, then an error", got)
		}
	})
}

func TestBatchDoesNothingUntilItIsRangedOverAndCanBeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pulled journal[int]
		batches := Batch(t.Context(), func(yield func(int, error) bool) {
			pulled.add(1)
			upTo(3)(yield)
		}, 2, 0)
		if synctest.Wait(); len(pulled.all()) != 0 {
			t.Error("pulled before a loop")
		}
		for range 2 {
			got, err := Collect(batches)
			if want := [][]int{{0, 1}, {2}}; err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
	})
}

// For any size, wait, pauses and errors: the concatenated batches are the input, no batch is empty or too large, errors keep
// their places, and no value waits longer than allowed.
func TestBatchLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(r, "size")
		wait := time.Duration(rapid.IntRange(0, 5).Draw(r, "wait in s")) * time.Second
		pauses := rapid.SliceOfN(rapid.IntRange(-1, 6), 0, 30).Draw(r, "pauses in s, -1 for an error")
		var in timedSource
		var came []time.Duration
		now := time.Duration(0)
		for i, pause := range pauses {
			in = append(in, timedSource{{Value: i}}...)
			if pause < 0 {
				in[i].Value, in[i].Err = 0, fmt.Errorf("%d", i)
			} else {
				in[i].Pause = time.Duration(pause) * time.Second
			}
			now += in[i].Pause
			came = append(came, now)
		}
		var got []batched
		synctest.Test(t, func(t *testing.T) { got = batchAll(Batch(t.Context(), in.stream, size, wait)) })

		i := 0
		for _, b := range got {
			if b.err != nil {
				if i >= len(in) || b.err != in[i].Err || b.values != nil || b.at != came[i] {
					r.Fatalf("error %v in the wrong place, %d, or with values, or late", b, i)
				}
				i++
				continue
			}
			if len(b.values) == 0 || len(b.values) > size {
				r.Fatalf("a batch of %d with size %d", len(b.values), size)
			}
			if wait > 0 && b.at > came[i]+wait {
				r.Fatalf("batch %v whose first value came at %v: it waited for more than %v", b, came[i], wait)
			}
			for _, v := range b.values {
				if i >= len(in) || in[i].Err != nil || v != i {
					r.Fatalf("value %d in place %d", v, i)
				}
				i++
			}
		}
		if i != len(in) {
			r.Fatalf("%d of %d came", i, len(in))
		}
	})
}
