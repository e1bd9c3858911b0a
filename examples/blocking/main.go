// Blocking makes 1,000 calls that wait 500 ms each, by a function that knows ctx and by one that does not.
//
// A function that knows ctx waits as a goroutine: all 1,000 wait at once and cost no thread. A function that does not
// may hold a thread while it waits, as calls into C and slow disks do. Blocking runs at most 100 such calls at once, so
// these take ten rounds of 500 ms; in return the process needs about 100 threads and not 1,000. It prints the time and
// the threads of both, and what a cancellation does to each:
//
//	1,000 waits of 500 ms             time    threads
//	tasks with Sleep                  0.50 s        4
//	tasks with Blocking               5.02 s      105
//
//	canceled after 100 ms             returned after
//	Sleep                             100 ms
//	Blocking                          100 ms, its call ended at 500 ms
//
// The threads are those the process has created since its start.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	calls = 1000
	pause = 500 * time.Millisecond
)

func main() {
	ctx := context.Background()

	fmt.Println("1,000 waits of 500 ms             time    threads")
	measure("tasks with Sleep", func() error { return all(ctx, withContext) })
	measure("tasks with Blocking", func() error { return all(ctx, withoutContext) })

	fmt.Println()
	fmt.Println("canceled after 100 ms             returned after")
	fmt.Printf("%-33s %d ms\n", "Sleep", returned(withContext).Milliseconds())
	ended := make(chan time.Duration, 1)
	start := time.Now()
	after := returned(func(ctx context.Context) error {
		_, err := meanwhile.Blocking(ctx, func() (meanwhile.Void, error) {
			defer func() { ended <- time.Since(start) }()
			return meanwhile.Void{}, holdThread()
		})
		return err
	})
	fmt.Printf("%-33s %d ms, its call ended at %d ms\n", "Blocking", after.Milliseconds(), (<-ended).Milliseconds())
}

// withContext waits in a way that a cancellation ends.
func withContext(ctx context.Context) error { return meanwhile.Sleep(ctx, pause) }

// withoutContext waits in a way that nothing ends.
func withoutContext(ctx context.Context) error {
	_, err := meanwhile.Blocking(ctx, func() (meanwhile.Void, error) {
		return meanwhile.Void{}, holdThread()
	})
	return err
}

// holdThread does what a call into C that waits does: it keeps a thread for itself, and nobody can end it.
func holdThread() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	time.Sleep(pause)
	return nil
}

// all runs fn in 1,000 tasks. The number is known and small, so a scope does; for an unknown number use Each.
func all(ctx context.Context, fn func(context.Context) error) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for range calls {
			meanwhile.Go(ctx, fn)
		}
		return nil
	})
}

func measure(what string, fn func() error) {
	start := time.Now()
	if err := fn(); err != nil {
		log.Fatal(err)
	}
	threads := pprof.Lookup("threadcreate").Count()
	fmt.Printf("%-33s %.2f s %8d\n", what, time.Since(start).Seconds(), threads)
}

// returned says after what time fn returns when it is canceled after 100 ms.
func returned(fn func(context.Context) error) time.Duration {
	start := time.Now()
	err := meanwhile.Run(context.Background(), fn, meanwhile.Timeout(100*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		log.Fatal("not canceled: ", err)
	}
	return time.Since(start).Round(time.Millisecond)
}
