package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

var errBoom = errors.New("boom")

// BenchmarkCancel starts 100,000 tasks (10,000 when each benchmark runs once) that wait for ctx.Done(), and measures the time from the cancellation
// to the return of the scope, when all of them have ended. The scope is canceled by its parent, or by the failure of one more task.
func BenchmarkCancel(b *testing.B) {
	n := 100_000
	if once() {
		n = 10_000
	}
	for _, event := range []string{"parent", "failure"} {
		for _, s := range scopes {
			if !s.cancels {
				continue
			}
			b.Run(fmt.Sprintf("n=%d/by=%s/lib=%s", n, event, s.lib), func(b *testing.B) {
				run, done := s.open(n)
				defer done()
				for b.Loop() {
					b.StopTimer()
					end, wait := startWaiters(b.Context(), run, n, event)
					b.StartTimer()
					end()
					if err := wait(); err == nil {
						b.Fatal("no error")
					}
				}
				b.ReportMetric(milliseconds(b.Elapsed())/float64(b.N), "ms")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// startWaiters returns when all n tasks are waiting. end cancels them, and wait waits until they have ended.
func startWaiters(ctx context.Context, run scopeFunc, n int, event string) (end func(), wait func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	fail := make(chan struct{})
	returned := make(chan error, 1)
	var ready sync.WaitGroup
	ready.Add(n + 1)
	go func() {
		returned <- run(ctx, n+1, func(ctx context.Context, i int) error {
			done := ctx.Done()
			ready.Done()
			if i == 0 {
				select {
				case <-fail:
					return errBoom
				case <-done:
				}
			}
			<-done
			return ctx.Err()
		})
	}()
	ready.Wait()
	time.Sleep(20 * time.Millisecond) // until the last of them are blocked
	runtime.GC()
	end = func() { cancel(errBoom) }
	if event == "failure" {
		end = func() { close(fail) }
	}
	return end, func() error {
		defer cancel(nil)
		return <-returned
	}
}
