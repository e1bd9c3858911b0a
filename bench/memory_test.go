package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// memoryVariable makes the test binary measure memory instead of running tests; see memoryChild.
const memoryVariable = "MEANWHILE_BENCH_MEMORY"

// bare is what the libraries are compared with: a goroutine that cannot be canceled.
var bare = scope{"goroutine", plain(runGoroutines), func(_ context.Context, d time.Duration) error {
	time.Sleep(d)
	return nil
}, false}

// memoryScopes returns bare, the same with a wait that stops when ctx is canceled, and all libraries that can run n tasks at
// once.
func memoryScopes() []scope {
	list := []scope{bare}
	for _, s := range scopes {
		if s.lib == bare.lib {
			s.lib = "goroutine-ctx"
		}
		list = append(list, s)
	}
	return list
}

// BenchmarkMemory measures the memory of n sleeping tasks, for each library in a process of its own. B/task is the memory that
// the Go runtime holds after a garbage collection, rss-B/task the resident memory, if the system reports it. A million tasks take
// about 3 GB; there are no more than 10,000 when each benchmark runs once.
func BenchmarkMemory(b *testing.B) {
	counts := []int{100_000, 1_000_000}
	if once() {
		counts = []int{10_000}
	}
	for _, n := range counts {
		for _, s := range memoryScopes() {
			if n > 100_000 && s.lib != "goroutine" && s.lib != "goroutine-ctx" && s.lib != "meanwhile" {
				continue
			}
			b.Run(fmt.Sprintf("n=%d/lib=%s", n, s.lib), func(b *testing.B) {
				var held, resident float64
				for b.Loop() {
					h, r, err := memoryOf(s.lib, n)
					if err != nil {
						b.Fatal(err)
					}
					held += h
					resident += r
				}
				b.ReportMetric(held/float64(b.N), "B/task")
				if resident > 0 {
					b.ReportMetric(resident/float64(b.N), "rss-B/task")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// memoryOf measures in a process of its own.
func memoryOf(lib string, n int) (held, resident float64, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", memoryVariable, lib, n))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("measure the memory of %s: %w", lib, err)
	}
	if _, err := fmt.Sscan(string(out), &held, &resident); err != nil {
		return 0, 0, fmt.Errorf("read the memory of %s from %q: %w", lib, out, err)
	}
	return held, resident, nil
}

// memoryChild starts the tasks, prints the bytes that each uses, and returns without waiting for them.
func memoryChild(spec string) (status int) {
	lib, number, _ := strings.Cut(spec, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for _, s := range memoryScopes() {
		if s.lib != lib {
			continue
		}
		run, _ := s.open(n)
		heldBefore, residentBefore := memory()
		var asleep atomic.Int64
		go func() {
			err := run(context.Background(), n, func(ctx context.Context, _ int) error {
				asleep.Add(1)
				return s.sleep(ctx, time.Hour)
			})
			panic(err) // an hour has not passed
		}()
		for asleep.Load() < int64(n) {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		held, resident := memory()
		fmt.Println((held-heldBefore)/float64(n), (resident-residentBefore)/float64(n))
		return 0
	}
	fmt.Fprintf(os.Stderr, "no library is called %q\n", lib)
	return 2
}

// memory returns the bytes that the process holds, after a collection.
func memory() (held, resident float64) {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var pages float64
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		_, _ = fmt.Sscan(string(statm), new(float64), &pages)
	}
	return float64(m.Sys - m.HeapReleased), pages * float64(os.Getpagesize())
}
