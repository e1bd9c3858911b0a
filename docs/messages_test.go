package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

func goexit() { runtime.Goexit() }

const goexitMessage = "the function called runtime.Goexit (testing's FailNow, Fatal and Skip do: call them in the test's own goroutine)"

// TestMessages makes the mistakes that the guides explain and looks for what they say in the guide.
func TestMessages(t *testing.T) {
	ctx := context.Background()
	run := func(fn func(ctx context.Context)) {
		err := meanwhile.Run(ctx, func(ctx context.Context) error { fn(ctx); return nil })
		if p, ok := errors.AsType[*meanwhile.PanicError](err); ok {
			panic(p.Value)
		}
	}
	numbers := meanwhile.Stream[int](func(yield func(int, error) bool) { yield(1, nil) })
	tests := []struct {
		guide   string
		mistake func()
	}{
		{"getting-started", func() { meanwhile.Go(ctx, step) }},
		{"tasks", func() { meanwhile.Go(ctx, step) }},
		{"tasks", func() { meanwhile.Async(ctx, findUser) }},
		{"tasks", func() {
			var kept context.Context
			run(func(ctx context.Context) { kept = ctx })
			meanwhile.Go(kept, step)
		}},
		{"tasks", func() {
			run(func(ctx context.Context) {
				var self *meanwhile.Task[struct{}]
				ready := make(chan struct{})
				self = meanwhile.Go(ctx, func(ctx context.Context) error {
					<-ready
					_, err := self.Wait(ctx)
					return err
				}, meanwhile.Name("a"))
				close(ready)
			})
		}},
		{"tasks", func() { _ = meanwhile.Run(ctx, step, meanwhile.InBackground()) }},
		{"tasks", func() { meanwhile.Every(ctx, 0, step) }},
		{"tasks", func() { meanwhile.NewSemaphore(0) }},
		{"tasks", func() { meanwhile.NewSemaphore(1).Release(1) }},
		{"tasks", func() { meanwhile.NewSemaphore(1).Set(0) }},
		{"streams", func() { meanwhile.Limit(0) }},
		{"streams", func() { meanwhile.Limit(1).Set(-1) }},
		{"streams", func() { meanwhile.Window(0) }},
		{"streams", func() { meanwhile.AdaptiveLimit(10, 5) }},
		{"streams", func() { meanwhile.Rate(0, time.Second) }},
		{"streams", func() { meanwhile.Batch(ctx, numbers, 0, 0) }},
		{"streams", func() { meanwhile.Batch(ctx, numbers, 1, -time.Second) }},
		{"streams", func() { meanwhile.Take(numbers, -1) }},
		{"streams", func() {
			defer func() { panic(recover().(*meanwhile.PanicError).Value) }()
			for range meanwhile.Map(ctx, func(yield func(int, error) bool) {
				for yield(1, nil); ; yield(2, nil) {
				}
			}, func(_ context.Context, i int) (int, error) { return i, nil }) {
				break
			}
		}},
		{"streams", func() { meanwhile.Retry(retry.Policy{Attempts: -1}) }},
		{"cancellation", func() { meanwhile.Timeout(0) }},
		{"cancellation", func() { _ = meanwhile.Shield(ctx, 0, step) }},
		{"testing", func() { panic(goexitMessage) }},
	}
	for _, test := range tests {
		text, err := os.ReadFile(test.guide + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		unbroken := strings.Join(strings.Fields(string(text)), " ")
		if got := panicOf(test.mistake); !strings.Contains(unbroken, got) {
			t.Errorf("%s.md does not explain: %s", test.guide, got)
		}
	}
}

// panicOf is what fn panics with.
func panicOf(fn func()) (message string) {
	defer func() { message = fmt.Sprint(recover()) }()
	fn()
	return "no panic"
}
