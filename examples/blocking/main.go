// Blocking limits calls that block a thread. It makes 1,000 calls that take 500 ms each, in three ways, and prints the
// highest number of threads that the process had.
//
// A function that uses its ctx, such as Sleep or a network call, waits as a goroutine: 1,000 of them need no thread. A
// blocking system call, such as one by a C library or to a file on a slow disk, holds a thread: 1,000 concurrent calls need
// 1,000 threads, which the process keeps until it ends. With Blocking 100 run at a time: ten rounds, and 100 threads.
//
//	1,000 calls of 500 ms             time    threads
//	tasks with Sleep                  0.51 s        4
//	tasks that hold a thread          0.70 s     1004
//	tasks with Blocking               5.04 s      104
//
// Each way runs in its own process, with a Watch, which reports on standard error the threads that the second way holds:
//
//	WARN many threads are held by system calls or C count=653 places="reports/report 0: system call read, driver_unix.go:29, and 651 more there"
//
// Then a call is canceled, in the first and in the third way. A call that holds a thread cannot be interrupted: Blocking
// returns without waiting for it. The tree shows the call below its task, and as abandoned when the task has ended:
//
//	canceled after 100 ms             returned after
//	Sleep                             100 ms
//	Blocking                          100 ms
//
//	the tree after 50 ms:
//	report: blocking, main.go:66 (meanwhile.Blocking[...])
//	└─ blocking: system call read, driver_unix.go:29 (syscall.Read)
//	the tree afterwards:
//	blocking (abandoned): system call read, driver_unix.go:29 (syscall.Read), here in 2 snapshots
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
)

const (
	calls = 1000
	pause = 500 * time.Millisecond
)

// variants are the ways in which a task waits for half a second. The name is the argument of the process that does so.
var variants = []struct {
	name, title string
	wait        func(ctx context.Context) error
}{
	{"sleep", "tasks with Sleep", sleep},
	{"bare", "tasks that hold a thread", func(context.Context) error { return oldDriver() }},
	{"blocking", "tasks with Blocking", withBlocking},
}

// sleep waits, and returns early when ctx is canceled.
func sleep(ctx context.Context) error { return meanwhile.Sleep(ctx, pause) }

// withBlocking calls a function that cannot be interrupted, but returns when ctx is canceled.
func withBlocking(ctx context.Context) error {
	_, err := meanwhile.Blocking(ctx, func() (struct{}, error) {
		return struct{}{}, oldDriver()
	})
	return err
}

func main() {
	if len(os.Args) > 1 {
		measure(os.Args[1])
		return
	}
	fmt.Println("1,000 calls of 500 ms             time    threads")
	for _, variant := range variants {
		runSelf(variant.name)
	}
	fmt.Println()
	fmt.Println("canceled after 100 ms             returned after")
	fmt.Printf("%-33s %d ms\n", "Sleep", returned(sleep).Milliseconds())
	during := make(chan string, 1)
	time.AfterFunc(pause/10, func() { during <- trees() })
	fmt.Printf("%-33s %d ms\n", "Blocking", returned(withBlocking).Milliseconds())
	fmt.Printf("\nthe tree after 50 ms:\n%s", <-during)
	fmt.Printf("the tree afterwards:\n%s", trees())
}

// trees returns the running trees as text.
func trees() string {
	var text strings.Builder
	for _, tree := range inspect.Trees() {
		text.WriteString(tree.String())
	}
	return text.String()
}

// runSelf runs one way in a process of its own: a process keeps the threads that it has once started.
func runSelf(name string) {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	command := exec.Command(self, name)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		log.Fatal(err)
	}
}

// measure runs 1,000 tasks in the way with the given name, and prints their time and threads. The number of tasks is known
// and small, so a scope is enough; for an unknown number use Each.
func measure(name string) {
	for _, variant := range variants {
		if variant.name != name {
			continue
		}
		most, start := 0, time.Now()
		err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
			inspect.Watch(ctx, inspect.WatchConfig{})
			meanwhile.Every(ctx, 10*time.Millisecond, func(context.Context) error {
				most = max(most, threads())
				return nil
			})
			for i := range calls {
				meanwhile.Go(ctx, variant.wait, meanwhile.Name(fmt.Sprint("report ", i)))
			}
			return nil
		}, meanwhile.Name("reports"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-33s %.2f s %8d\n", variant.title, time.Since(start).Seconds(), most)
	}
}

// threads returns the number of threads of the process.
func threads() int {
	sample := []metrics.Sample{{Name: "/sched/threads/total:threads"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// returned returns the time after which fn returns when it is canceled after 100 ms.
func returned(fn func(context.Context) error) time.Duration {
	start := time.Now()
	err := meanwhile.Run(context.Background(), fn, meanwhile.Timeout(100*time.Millisecond), meanwhile.Name("report"))
	if !errors.Is(err, context.DeadlineExceeded) {
		log.Fatal("not canceled: ", err)
	}
	return time.Since(start).Round(time.Millisecond)
}
