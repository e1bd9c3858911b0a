package meanwhile_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A caller's mistake panics with a text that names the function and says what to do instead.
func TestMisuse(t *testing.T) {
	ctx := t.Context()
	returns := func(context.Context) error { t.Error("the function was called"); return nil }
	positive, duration, zero := "give a positive number", "give a positive duration", "leave a field zero for its default"
	for name, c := range map[string]struct {
		call func()
		want []string
	}{
		"Limit 0":               {func() { Limit(0) }, []string{"Limit(0)", positive}},
		"Limit -1":              {func() { Limit(-1) }, []string{"Limit(-1)", positive}},
		"Limiter.Set":           {func() { Limit(1).Set(0) }, []string{"Limiter.Set(0)", positive}},
		"Semaphore.Set":         {func() { NewSemaphore(1).Set(0) }, []string{"Semaphore.Set(0)", positive}},
		"AdaptiveLimit 0":       {func() { AdaptiveLimit(0, 5) }, []string{"AdaptiveLimit(0, 5)", "two positive numbers, the smaller first"}},
		"AdaptiveLimit swapped": {func() { AdaptiveLimit(9, 5) }, []string{"AdaptiveLimit(9, 5)", "the smaller first"}},
		"Window":                {func() { Window(0) }, []string{"Window(0)", positive}},
		"Rate 0":                {func() { Rate(0, time.Second) }, []string{"Rate(0, 1s)", positive}},
		"Rate per 0":            {func() { Rate(1, 0) }, []string{"Rate(1, 0s)", "a positive duration"}},
		"Pacer.Set":             {func() { Rate(1, 1).Set(-1, 1) }, []string{"(-1, 1ns)", positive}},
		"Timeout 0":             {func() { Timeout(0) }, []string{"Timeout(0s)", duration, "leave the option out for no timeout"}},
		"Timeout -1":            {func() { Timeout(-1) }, []string{"Timeout(-1ns)", duration}},
		"Retry attempts":        {func() { Retry(retry.Policy{Attempts: -1}) }, []string{"Retry", zero}},
		"Retry base":            {func() { Retry(retry.Policy{Base: -1}) }, []string{"Retry", zero}},
		"Retry max":             {func() { Retry(retry.Policy{Max: -1}) }, []string{"Retry", zero}},
		"zero Limiter":          {func() { _ = Each(ctx, upTo(1), func(context.Context, int) error { return nil }, new(Limiter)) }, []string{"zero Limiter", "Limit or AdaptiveLimit"}},
		"Retry factor":          {func() { Retry(retry.Policy{Factor: -1}) }, []string{"Retry", zero}},
		"Retry timeout":         {func() { Retry(retry.Policy{Timeout: -1}) }, []string{"Retry", zero}},
		"Retry jitter":          {func() { Retry(retry.Policy{Jitter: 1.1}) }, []string{"Retry", "jitter above 1", zero}},
		"Retry factor NaN":      {func() { Retry(retry.Policy{Factor: math.NaN()}) }, []string{"Retry", "factor below 1", zero}},
		"Retry jitter NaN":      {func() { Retry(retry.Policy{Jitter: math.NaN()}) }, []string{"Retry", "jitter above 1", zero}},
		"Batch size":            {func() { Batch(ctx, upTo(1), 0, 0) }, []string{"Batch(0)", positive}},
		"Batch wait":            {func() { Batch(ctx, upTo(1), 1, -1) }, []string{"Batch", "-1ns", duration, "zero to wait for ever"}},
		"Every":                 {func() { Every(ctx, 0, returns) }, []string{"Every(0s)", duration}},
		"Every nothing":         {func() { Every(ctx, 1, nil) }, []string{"Every with a nil function", "give the one to call each time"}},
		"Shield":                {func() { _ = Shield(ctx, 0, returns) }, []string{"Shield", "0s", duration, "call the function itself for none"}},
		"MaxTasks 0":            {func() { MaxTasks(0) }, []string{"MaxTasks(0)", positive}},
		"MaxTasks -1":           {func() { MaxTasks(-1) }, []string{"MaxTasks(-1)", positive}},
		"MaxTasks to Go": {
			func() { inScope(func(ctx context.Context) { Go(ctx, returns, MaxTasks(1)) }) },
			[]string{"MaxTasks given to Go", "give it to the Run or Supervise whose tasks it limits"},
		},
		"MaxTasks to Async": {
			func() {
				inScope(func(ctx context.Context) {
					Async(ctx, func(ctx context.Context) (int, error) { return 0, returns(ctx) }, MaxTasks(1))
				})
			},
			[]string{"MaxTasks given to Async"},
		},
		"MaxTasks to Every": {
			func() { inScope(func(ctx context.Context) { Every(ctx, 1, returns, MaxTasks(1)) }) },
			[]string{"MaxTasks given to Go"},
		},
		"InBackground to Run": {
			func() { _ = Run(ctx, returns, InBackground()) },
			[]string{"InBackground given to Run", "give it to Go or Async"},
		},
		"InBackground to Supervise": {
			func() { _ = Supervise(ctx, returns, InBackground()) },
			[]string{"InBackground given to Supervise", "give it to Go or Async"},
		},
		"InBackground to Shield": {
			func() { _ = Shield(ctx, time.Second, returns, InBackground()) },
			[]string{"InBackground given to Shield", "give it to Go or Async"},
		},
		"NewSemaphore": {func() { NewSemaphore(0) }, []string{"NewSemaphore(0)", positive}},
		"Release":      {func() { NewSemaphore(3).Release(1) }, []string{"Release(1)", "0 held", "release once what one Acquire took"}},
		"Release -1":   {func() { NewSemaphore(3).Release(-1) }, []string{"Release(-1)", "release once"}},
		"After outside a scope": {
			func() { Every(ctx, 1, returns) },
			[]string{"outside a scope", "pass the ctx that Run, Supervise or a task gave to its function"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				got := fmt.Sprint(recover())
				for _, want := range append(c.want, "meanwhile: ") {
					if !strings.Contains(got, want) {
						t.Errorf("panicked with %q, want %q in it", got, want)
					}
				}
			}()
			c.call()
		})
	}
}

// A scope also ends when its function returns while a background task is ending, between the end of the task's function and
// that of the task itself.
func TestBackgroundThatEndsTogetherWithItsScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := Observe(func(e Event) {
			if e.Kind == TaskEnded && e.Path == "run/a" {
				time.Sleep(time.Minute)
			}
		})
		start := time.Now()
		err := Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { return nil }, InBackground(), Name("a"))
			return Sleep(ctx, time.Second)
		}, slow)
		if err != nil || time.Since(start) != time.Minute {
			t.Errorf("ended after %v with %v", time.Since(start), err)
		}
	})
}

func TestEventKindString(t *testing.T) {
	for kind, want := range map[EventKind]string{TaskStarted: "started", TaskEnded: "ended", TaskRetrying: "retrying", 0: "unknown"} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
}

// inScope calls fn in a scope, and panics as fn does.
func inScope(fn func(ctx context.Context)) {
	var panicked any
	_ = Run(context.Background(), func(ctx context.Context) error {
		defer func() { panicked = recover() }()
		fn(ctx)
		return nil
	})
	if panicked != nil {
		panic(panicked)
	}
}
