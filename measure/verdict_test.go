package measure_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/measure"
)

// TestVerdicts counts how often the verdict is right, for functions that differ by a tenth and for two equal ones, beside a process that
// keeps each processor busy. It takes some three seconds per comparison and depends on the machine, so it only runs on request:
//
//	MEANWHILE_VERDICTS=100 go test -run Verdicts -v ./measure
func TestVerdicts(t *testing.T) {
	if os.Getenv("MEANWHILE_VERDICTS") == "neighbour" {
		neighbour()
	}
	runs, err := strconv.Atoi(os.Getenv("MEANWHILE_VERDICTS"))
	if err != nil {
		t.Skip("MEANWHILE_VERDICTS does not say how often to compare")
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestVerdicts$")
	command.Env = append(os.Environ(), "MEANWHILE_VERDICTS=neighbour")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	same, different := 0, 0
	for range runs {
		if noise, _ := verdict(t, 10_000, 10_000); noise {
			same++
		}
		if noise, slower := verdict(t, 10_000, 11_000); !noise && slower == "second" {
			different++
		}
	}
	t.Logf("right for the same function: %d of %d; for one that takes a tenth longer: %d of %d", same, runs, different, runs)
	if same*100 < runs*95 || different*100 < runs*95 {
		t.Error("the verdict is wrong too often")
	}
}

// verdict compares two functions with the given amounts of work.
func verdict(t *testing.T, first, second int) (noise bool, slower string) {
	t.Helper()
	report, err := measure.Compare(t.Context(), measure.Config{Time: 500 * time.Millisecond}, measure.Func("first", works(first)), measure.Func("second", works(second)))
	if err != nil {
		t.Fatal(err)
	}
	last := report.Results[1]
	return last.Compared.Noise, last.Name
}

func works(n int) func(context.Context) error {
	return func(context.Context) error {
		sink = work(n)
		return nil
	}
}

var (
	sink           int
	neighboursSink atomic.Int64
)

// work is compiled once, for all functions that use it: two copies of a loop may differ by half, depending on their address in memory.
//
//go:noinline
func work(n int) (x int) {
	for i := range n {
		x += i * i
	}
	return x
}

// neighbour keeps the machine busy until it is killed or its parent has ended.
func neighbour() {
	parent := os.Getppid()
	for range runtime.NumCPU() {
		go func() {
			for {
				neighboursSink.Store(int64(work(1_000_000)))
			}
		}()
	}
	for os.Getppid() == parent {
		time.Sleep(100 * time.Millisecond)
	}
	os.Exit(0)
}

func ExampleCompare() {
	report, err := measure.Compare(context.Background(), measure.Config{Time: 200 * time.Millisecond},
		measure.Func("join", func(context.Context) error {
			_ = strings.Join(words, " ")
			return nil
		}),
		measure.Func("concatenate", func(context.Context) error {
			text := ""
			for _, w := range words {
				text += w + " "
			}
			_ = text
			return nil
		}))
	if err != nil {
		panic(err)
	}
	slowest := report.Results[len(report.Results)-1]
	fmt.Println(slowest.Name, "is slower, noise:", slowest.Compared.Noise) // report.String contains the figures
	// Output:
	// concatenate is slower, noise: false
}

var words = strings.Fields(strings.Repeat("which of two functions is faster depends on what they are given ", 50))
