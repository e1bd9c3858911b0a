package jobs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// memoryVariable makes the test binary measure memory instead of running tests, see memoryChild.
const memoryVariable = "MEANWHILE_BENCH_JOBS_MEMORY"

func TestMain(m *testing.M) {
	if spec := os.Getenv(memoryVariable); spec != "" {
		if err := memoryChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// BenchmarkMemory measures the memory of a running job that waits, in a process of its own for each library: the heap and stacks
// in use after a garbage collection, minus those before the worker started.
func BenchmarkMemory(b *testing.B) {
	n := size(10_000, 100)
	each(b, func(b *testing.B, p peer) {
		program, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		var sum float64
		for b.Loop() {
			q, where := p.fresh(b, n)
			if err := q.bulk(b.Context(), n, here); err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %s", memoryVariable, p.lib, p.store, n, where))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("measure the memory of %s: %v", p.lib, err)
			}
			var held float64
			if _, err := fmt.Sscan(string(out), &held); err != nil {
				b.Fatalf("read the memory of %s from %q: %v", p.lib, out, err)
			}
			sum += held
		}
		b.ReportMetric(sum/float64(b.N), "B/job")
		b.ReportMetric(0, "ns/op")
	})
}

// memoryChild runs the jobs of a database, prints the bytes that each uses, and returns without waiting for them.
func memoryChild(spec string) error {
	var lib, store, where string
	var n int
	if _, err := fmt.Sscan(spec, &lib, &store, &n, &where); err != nil {
		return err
	}
	for _, p := range peers {
		if p.lib != lib || p.store != store {
			continue
		}
		ctx := context.Background()
		q, err := p.open(ctx, where, n)
		if err != nil {
			return err
		}
		before := inUse()
		var started atomic.Int64
		_, err = q.work(ctx, func(ctx context.Context, a args) error {
			started.Add(1)
			return waits(time.Hour)(ctx, a)
		})
		if err != nil {
			return err
		}
		for began := time.Now(); started.Load() < int64(n); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				return fmt.Errorf("%d of %d jobs have started after 30 s", started.Load(), n)
			}
		}
		time.Sleep(500 * time.Millisecond)
		fmt.Println((inUse() - before) / float64(n))
		return nil
	}
	return fmt.Errorf("no library is called %q on %s", lib, store)
}

func inUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}
