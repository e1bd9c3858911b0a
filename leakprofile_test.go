package meanwhile_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	. "github.com/meanwhile-go/meanwhile"
)

// leakedIn returns how many goroutines that wait in a function of this name the runtime's goroutine leak profile has.
func leakedIn(t *testing.T, function string) int {
	t.Helper()
	var text strings.Builder
	if err := pprof.Lookup("goroutineleak").WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	count := 0
	for record := range strings.SplitSeq(text.String(), "\n\n") {
		if m := regexp.MustCompile(`(?m)^(\d+) @ `).FindStringSubmatch(record); m != nil && strings.Contains(record, "."+function+"+") {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			count += n
		}
	}
	return count
}

//go:noinline
func leakFromTask(ch chan int, begun chan<- bool) { begun <- true; <-ch }

//go:noinline
func leakFromOutside(ch chan int, begun chan<- bool) { begun <- true; <-ch }

// The runtime's leak profile finds the goroutines that tasks have left behind as it finds others: neither the labels that they
// inherited nor what snapshots remember keep a task reachable, and with it the channel that it returned. In a scope that goes
// on, the last ended tasks are reachable until the next snapshot. The goroutines never end, so they have a process of their own.
func TestLeakProfileFindsWhatTasksLeftBehind(t *testing.T) {
	if pprof.Lookup("goroutineleak") == nil {
		t.Skip("this version of Go has no goroutine leak profile")
	}
	if os.Getenv("MEANWHILE_TEST_LEAKS") == "" {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "MEANWHILE_TEST_LEAKS=1")
		if out, err := child.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const each = 5
	start := func(leak func(chan int, chan<- bool)) chan int {
		ch, begun := make(chan int), make(chan bool)
		go leak(ch, begun)
		<-begun
		return ch
	}
	compare := func(when string) {
		t.Helper()
		outside, inside := leakedIn(t, "leakFromOutside"), leakedIn(t, "leakFromTask")
		if outside != each || inside != each {
			t.Errorf("%s the profile has %d goroutines from outside and %d of tasks, want %d each", when, outside, inside, each)
		}
	}
	for range each {
		start(leakFromOutside)
	}
	err := Run(t.Context(), func(ctx context.Context) error {
		Watch(ctx, WatchConfig{})
		for range each {
			task := Async(ctx, func(context.Context) (chan int, error) { return start(leakFromTask), nil })
			Trees()
			if _, err := task.Wait(ctx); err != nil {
				return err
			}
		}
		Trees()
		compare("in the scope")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compare("after the scope")
}
