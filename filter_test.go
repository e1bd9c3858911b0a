package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func even(i int) bool { return i%2 == 0 }

func times(n int) func(int) Stream[int] {
	return func(i int) Stream[int] { return From(slices.Values(slices.Repeat([]int{i}, n))) }
}

func TestFilter(t *testing.T) {
	wantValues(t, Filter(count(7), even), 0, 2, 4, 6)
	wantValues(t, Filter(count(0), even))
}

func TestTake(t *testing.T) {
	wantValues(t, Take(count(7), 3), 0, 1, 2)
	wantValues(t, Take(count(2), 3), 0, 1)
	again := Take(count(7), 2)
	wantValues(t, again, 0, 1)
	wantValues(t, again, 0, 1)
}

// When the loop is left or ctx is canceled, a user's own iterator ends with its next value, also behind a function that
// drops its values.
func TestDroppedValuesEndASource(t *testing.T) {
	seconds := func(yield func(int, error) bool) {
		for i := range 1000 {
			time.Sleep(time.Second)
			if !yield(i, nil) {
				return
			}
		}
	}
	first := func(i int) bool { return i == 0 }
	for name, s := range map[string]Stream[int]{
		"Filter":            Filter(seconds, first),
		"Filter of Filter":  Filter(Filter(seconds, first), first),
		"FlatMap":           FlatMap(seconds, func(i int) Stream[int] { return times(max(0, 1-i))(i) }),
		"inside of FlatMap": FlatMap(count(1), func(int) Stream[int] { return Filter(seconds, first) }),
	} {
		for end, loop := range map[string]func(context.Context) error{
			"Map left":     func(ctx context.Context) error { _, err := Collect(Take(Map(ctx, s, same), 1)); return err },
			"Map canceled": func(ctx context.Context) error { _, err := Collect(Map(ctx, s, same)); return err },
			"Batch canceled": func(ctx context.Context) error {
				_, err := Collect(Batch(ctx, s, 2, 0))
				return err
			},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
					defer cancel()
					begin := time.Now()
					_ = loop(ctx)
					if took := time.Since(begin); took > 5*time.Second {
						t.Errorf("the loop ended after %v", took)
					}
				})
			})
		}
	}
}

// Take pulls no more values than it yields: none at all for zero.
func TestTakePullsNoMore(t *testing.T) {
	for n := range 4 {
		pulled := 0
		err := drain(Take(From(func(yield func(int) bool) {
			for {
				if pulled++; !yield(pulled) {
					return
				}
			}
		}), n))
		if pulled != n || err != nil {
			t.Errorf("pulled %d for %d, %v", pulled, n, err)
		}
	}
}

func TestTakeRefusesANegativeNumber(t *testing.T) {
	if text := panicText(func() { Take(count(1), -1) }); text != "meanwhile: Take(-1): give the number of values to take, or zero for none" {
		t.Error(text)
	}
}

func TestFlatMap(t *testing.T) {
	wantValues(t, FlatMap(count(4), func(i int) Stream[int] { return times(i)(i) }), 1, 2, 2, 3, 3, 3)
}

// Errors pass through all of these functions, in their place; Take does not count them.
func TestErrorsPassThrough(t *testing.T) {
	in := func(yield func(int, error) bool) {
		for i := range 5 {
			if !yield(i, nil) || !yield(-1, fmt.Errorf("after %d", i)) {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		stream Stream[int]
		want   string
	}{
		"Filter":  {Filter(in, even), "[0 after 0 after 1 2 after 2 after 3 4 after 4]"},
		"Take":    {Take(in, 2), "[0 after 0 1]"},
		"FlatMap": {FlatMap(Take(in, 2), func(i int) Stream[int] { return Take(in, i+1) }), "[0 after 0 0 after 0 1]"},
	} {
		var got []any
		for v, err := range c.stream {
			if err != nil {
				got = append(got, err)
			} else {
				got = append(got, v)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
}

// Leaving a loop immediately ends whatever its source waits for, through any chain of functions of this package.
func TestLeavingEndsWaitsThroughCombinators(t *testing.T) {
	type source func(ctx context.Context) Stream[int]
	waiting := map[string]source{
		"Receive": func(ctx context.Context) Stream[int] {
			ch := make(chan int, 1)
			ch <- 0
			return Receive(ctx, ch)
		},
		"Generate": func(ctx context.Context) Stream[int] {
			return Generate(ctx, func(ctx context.Context, yield func(int) bool) error {
				yield(0)
				<-ctx.Done()
				return ctx.Err()
			})
		},
		"Lines": func(ctx context.Context) Stream[int] {
			r, w := io.Pipe()
			go func() { _, _ = w.Write([]byte("0\n")); <-ctx.Done(); w.Close() }()
			return FlatMap(Lines(ctx, r), func(string) Stream[int] { return count(1) })
		},
		"Map": func(ctx context.Context) Stream[int] {
			return Map(ctx, count(2), func(ctx context.Context, i int) (int, error) { return i, Sleep(ctx, time.Duration(i)*time.Hour) })
		},
	}
	chains := map[string]func(Stream[int]) Stream[int]{
		"plain":              func(in Stream[int]) Stream[int] { return in },
		"Filter":             func(in Stream[int]) Stream[int] { return Filter(in, isAny) },
		"Take":               func(in Stream[int]) Stream[int] { return Take(in, 10) },
		"FlatMap, outside":   func(in Stream[int]) Stream[int] { return FlatMap(in, times(1)) },
		"FlatMap, inside":    func(in Stream[int]) Stream[int] { return FlatMap(count(3), func(int) Stream[int] { return in }) },
		"all":                func(in Stream[int]) Stream[int] { return Take(Filter(FlatMap(in, times(2)), isAny), 9) },
		"Filter of a Filter": func(in Stream[int]) Stream[int] { return Filter(Filter(in, isAny), even) },
		"Batch of Filter": func(in Stream[int]) Stream[int] {
			return FlatMap(Batch(context.Background(), Filter(in, isAny), 1, 0), func(b []int) Stream[int] { return From(slices.Values(b)) })
		},
		"Filter of Map of Filter": func(in Stream[int]) Stream[int] {
			return Filter(Map(context.Background(), Filter(in, isAny), same), isAny)
		},
	}
	for from, source := range waiting {
		for through, chain := range chains {
			t.Run(from+" "+through, func(t *testing.T) {
				bubble(t, func(t *testing.T, ctx context.Context) {
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					start := time.Now()
					for v, err := range Map(ctx, chain(source(ctx)), same) {
						if v != 0 || err != nil {
							t.Errorf("got %d, %v", v, err)
						}
						synctest.Wait() // the source waits
						break
					}
					if took := time.Since(start); took != 0 {
						t.Errorf("leaving took %v", took)
					}
				})
			})
		}
	}
	if n := Pullers(); n != 0 {
		t.Errorf("%d yield functions are still registered", n)
	}
}

// A plain loop has no puller, wherever its closure is in memory: registrations of streams that have ended, or that still
// run, do not end its source.
func TestPlainLoopIsNotMistakenForAStream(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range testenv.Rounds(20, 200) {
		ch := make(chan int, 2)
		ch <- 0
		ch <- 1
		close(ch)
		for range Map(ctx, Filter(Receive(ctx, ch), isAny), same) {
			break
		}
		full := make(chan int, 3)
		for i := range 3 {
			full <- i
		}
		close(full)
		seen := 0
		for range Filter(Receive(ctx, full), isAny) {
			if seen++; seen == 2 {
				runtime.GC()
			}
		}
		if seen != 3 {
			t.Fatalf("a plain loop got %d of 3 values", seen)
		}
	}
	if n := Pullers(); n != 0 {
		t.Errorf("%d yield functions are still registered", n)
	}
}

// A user's own iterator between a source and the stream hides one from the other: leaving the loop waits for it.
func TestLeavingWaitsForTheUsersOwnIterator(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		ch := make(chan int, 1)
		ch <- 0
		own := func(yield func(int, error) bool) {
			for v, err := range Receive(ctx, ch) {
				if !yield(v, err) {
					return
				}
			}
		}
		go func() {
			time.Sleep(time.Hour)
			ch <- 1
		}()
		start := time.Now()
		for range Map(ctx, own, same) {
			synctest.Wait() // until the source waits for the next value
			break
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("took %v, want until the next value", took)
		}
	})
}

// A chainPlan is a stream of streams, and the operations that a slice would go through as well.
type chainPlan struct {
	steps   []chainStep
	n       int // values in
	failAt  int // index at which the source fails; -1 is never
	panicAt int
	breakAt int // index at which the loop is left
	cancel  int // cancel ctx before this result
}

type chainStep struct {
	kind string
	arg  int
}

func drawChain(t *rapid.T) chainPlan {
	step := rapid.Custom(func(t *rapid.T) chainStep {
		return chainStep{
			rapid.SampledFrom([]string{"filter", "take", "flat", "map", "batch", "generate", "receive"}).Draw(t, "kind"),
			rapid.IntRange(0, 5).Draw(t, "arg"),
		}
	})
	n := rapid.IntRange(0, 20).Draw(t, "values")
	never := func(name string) int { return rapid.OneOf(rapid.Just(-1), rapid.IntRange(0, 25)).Draw(t, name) }
	return chainPlan{
		steps: rapid.SliceOfN(step, 0, 4).Draw(t, "steps"), n: n,
		failAt: never("fail at"), panicAt: never("panic at"), breakAt: never("break at"), cancel: never("cancel at"),
	}
}

// A chained is one result of a chain, as a plain loop sees it.
type chained struct {
	value int
	err   error
}

var errSource = errors.New("source")

func (p chainPlan) source(yield func(int, error) bool) {
	for i := range p.n {
		if i == p.panicAt {
			panic("source")
		}
		var err error
		if i == p.failAt {
			err = errSource
		}
		if !yield(i, err) {
			return
		}
	}
}

// stream returns the chain.
func (p chainPlan) stream(ctx context.Context) Stream[int] {
	s := Stream[int](p.source)
	for _, step := range p.steps {
		in := s
		switch step.kind {
		case "filter":
			s = Filter(in, func(v int) bool { return v%(step.arg+1) == 0 })
		case "take":
			s = Take(in, 2*step.arg)
		case "flat":
			s = FlatMap(in, func(v int) Stream[int] { return times(step.arg % 3)(v) })
		case "map":
			s = Map(ctx, in, same, Limit(step.arg+1), Window(step.arg+1))
		case "batch":
			s = FlatMap(Batch(ctx, in, step.arg+1, 0), func(b []int) Stream[int] { return From(slices.Values(b)) })
		case "generate":
			s = Generate(ctx, func(ctx context.Context, yield func(int) bool) error {
				for v, err := range in {
					if err != nil {
						return err
					}
					if !yield(v) {
						return nil
					}
				}
				return nil
			})
		case "receive": // each value is received from a channel
			s = FlatMap(in, func(v int) Stream[int] {
				ch := make(chan int, 1)
				ch <- v
				close(ch)
				return Receive(ctx, ch)
			})
		}
	}
	return s
}

// plain returns what the chain does to the slice of the values, without a cancellation.
func (p chainPlan) plain() (list []chained) {
	for i := range p.n {
		if i == p.panicAt {
			list = append(list, chained{-1, &PanicError{}})
			break
		}
		var err error
		if i == p.failAt {
			err = errSource
		}
		list = append(list, chained{i, err})
	}
	for _, step := range p.steps {
		var out []chained
		left := 2 * step.arg
		for _, c := range list {
			if step.kind == "take" && left == 0 {
				break
			}
			if c.err != nil {
				out = append(out, c)
				if step.kind == "generate" {
					break
				}
				continue
			}
			switch step.kind {
			case "filter":
				if c.value%(step.arg+1) == 0 {
					out = append(out, c)
				}
			case "flat":
				out = append(out, slices.Repeat([]chained{c}, step.arg%3)...)
			default:
				left--
				out = append(out, c)
			}
		}
		list = out
	}
	return list
}

// withoutEarlyPanic removes the panic at the end of got if it replaced another value: a stream that reads ahead may have met
// it before a Take, an error or the ctx ended the chain, and no panic is dropped. It reports whether there was one.
func (p chainPlan) withoutEarlyPanic(got, want []chained) ([]chained, bool) {
	last := len(got) - 1
	if p.panicAt < 0 || last < 0 || got[last].String() != "panic" || last < len(want) && want[last].String() == "panic" {
		return got, false
	}
	endsEarly := func(s chainStep) bool { return s.kind == "take" || s.kind == "generate" && p.failAt >= 0 }
	if p.cancel < 0 && !slices.ContainsFunc(p.steps, endsEarly) {
		return got, false
	}
	return got[:last], true
}

func (c chained) String() string {
	if _, ok := errors.AsType[*PanicError](c.err); ok {
		return "panic"
	}
	if c.err != nil {
		return c.err.Error()
	}
	return fmt.Sprint(c.value)
}

// Any chain yields what a plain loop over a slice would, up to where the loop is left or the ctx is canceled, and leaves no
// goroutine and no registration behind.
func TestLawChainIsAPlainLoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawChain(rt)
		var got []chained
		var failure error
		synctest.Test(t, func(t *testing.T) {
			failure = Run(t.Context(), func(ctx context.Context) error {
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				// The outermost Map turns a panic of the source into an error; without it, the loop would panic.
				for v, err := range Map(ctx, p.stream(ctx), same, Limit(3)) {
					if errors.Is(err, errWhy) {
						return nil
					}
					if len(got) == p.breakAt {
						break
					}
					got = append(got, chained{v, err})
					if len(got) == p.cancel {
						cancel(errWhy)
					}
				}
				return nil
			})
		})
		want := p.plain()
		got, early := p.withoutEarlyPanic(got, want)
		if panicked, ok := errors.AsType[*PanicError](failure); failure != nil && (!ok || panicked.Value != "source" || p.panicAt < 0) {
			rt.Fatalf("the loop failed: %v", failure)
		}
		if len(got) > len(want) || p.breakAt < 0 && p.cancel < 0 && !early && failure == nil && len(got) != len(want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		for i := range got {
			if got[i].String() != want[i].String() {
				rt.Fatalf("got %v, want %v", got, want)
			}
		}
		if n := Pullers(); n != 0 {
			rt.Fatalf("%d yield functions are still registered", n)
		}
	})
}
