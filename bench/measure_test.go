package bench

import (
	"context"
	"flag"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(memoryVariable); spec != "" {
		os.Exit(memoryChild(spec))
	}
	os.Exit(m.Run())
}

// measure runs op in the benchmark's loop and reports the cost of each of its n units. A unit is a task or an item.
func measure(b *testing.B, n int, unit string, op func() error) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	units := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/units, "ns/"+unit)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/units, "B/"+unit)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/units, "allocs/"+unit)
	b.ReportMetric(0, "ns/op") // omits it: the time per unit says the same
}

// measureWait runs op in the benchmark's loop and reports its time in milliseconds, and as a multiple of the ideal time, without
// any overhead.
func measureWait(b *testing.B, ideal time.Duration, op func() error) {
	b.Helper()
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
	took := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(milliseconds(took), "ms")
	b.ReportMetric(milliseconds(ideal), "ideal-ms")
	b.ReportMetric(float64(took)/float64(ideal), "x-ideal")
	b.ReportMetric(0, "ns/op")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// once reports whether each benchmark is run a single time, to test that it works at all.
func once() bool {
	f := flag.Lookup("test.benchtime")
	return f != nil && f.Value.String() == "1x" || testing.Short()
}

// sleep waits as a careful caller does without meanwhile: it stops when ctx is canceled.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
