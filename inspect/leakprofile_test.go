package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

// leakedIn returns how many goroutines in the runtime's goroutine leak profile wait in a function of this name.
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

// The runtime's leak profile contains the goroutines that tasks have leaked like any others: neither the labels that they inherited nor the data
// that snapshots keep make a task reachable, and with it the channel that it returned. In a scope that still runs, the last ended tasks are
// reachable until the next snapshot. The goroutines never end, so they have a process of their own.
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
		outside, inside := 0, 0
		for begun := time.Now(); (outside != each || inside != each) && time.Since(begun) < time.Minute; { // until the last goroutine waits
			outside, inside = leakedIn(t, "leakFromOutside"), leakedIn(t, "leakFromTask")
		}
		if outside != each || inside != each {
			t.Errorf("%s the profile has %d goroutines from outside and %d of tasks, want %d each", when, outside, inside, each)
		}
	}
	for range each {
		start(leakFromOutside)
	}
	found := make(chan Finding, 100)
	err := Run(t.Context(), func(ctx context.Context) error {
		Watch(ctx, WatchConfig{LeakProfile: time.Hour, GoroutineLeaked: -1, Log: quiet}) // the first snapshot finds none yet
		for range each {
			task := Async(ctx, func(context.Context) (chan int, error) { return start(leakFromTask), nil })
			Trees()
			if _, err := task.Wait(ctx); err != nil {
				return err
			}
		}
		Trees()
		compare("in the scope")
		Watch(ctx, WatchConfig{LeakProfile: time.Millisecond, GoroutineLeaked: -1, Log: quiet, Report: func(f Finding) {
			if f.Kind == GoroutineUnreachable {
				found <- f
			}
		}})
		for range 2 {
			select {
			case e := <-found:
				if e.Count != each || e.Wait.For != "receive" || e.Path != "" && e.Path != "run/#" {
					t.Errorf("the watch reports %+v", e)
				}
			case <-time.After(time.Minute):
				t.Fatal("the watch reports no leaks")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compare("after the scope")
	leaks, err := Leaks()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, l := range leaks {
		got[l.Task] = withoutLines(l.String())
	}
	for task, want := range map[string]string{
		"": "5 goroutines of no task: receive, leakprofile_test.go", "run/#": "5 goroutines of run/#: receive, leakprofile_test.go",
	} {
		if got[task] != want {
			t.Errorf("got the leaks %q, want %q among them", got, want)
		}
	}
}

// If the runtime has no goroutine leak profile, the watch logs that once.
func TestNoLeakProfile(t *testing.T) {
	if pprof.Lookup("goroutineleak") != nil {
		t.Skip("this version of Go has a goroutine leak profile")
	}
	if leaks, err := Leaks(); !errors.Is(err, ErrNoLeakProfile) || leaks != nil {
		t.Errorf("got %v, %v", leaks, err)
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := only(TaskDeadlock)
		c.LeakProfile, c.Log = time.Second, slog.New(slog.NewTextHandler(&log, nil))
		watched(t, c, func(ctx context.Context, _ *findings) { _ = Sleep(ctx, time.Minute) })
		if got := strings.Count(log.String(), "build it with Go 1.27 or newer"); got != 1 {
			t.Errorf("it was logged %d times, want once:\n%s", got, &log)
		}
	})
}

// The profile of all goroutines is read in the same way: with the names of tasks, and only up to where the task begins.
func TestLeaksAreReadWithTheirTasks(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		ch, begun := make(chan int), make(chan bool)
		defer close(ch)
		for range 3 {
			Go(ctx, func(context.Context) error { leakFromTask(ch, begun); return nil }, Name("waits"))
			<-begun
		}
		var leaks []Leak
		for begun := time.Now(); time.Since(begun) < time.Minute; { // until the last goroutine waits
			var err error
			if leaks, err = LeaksIn(pprof.Lookup("goroutine")); err != nil {
				return err
			}
			for _, l := range leaks {
				if l.Task == "run/waits" && withoutLines(l.String()) == "3 goroutines of run/waits: receive, leakprofile_test.go" {
					return nil
				}
			}
		}
		t.Errorf("got %v", leaks)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got, want := (Leak{Count: 1, Wait: Wait{For: "send"}}).String(), "1 goroutine of no task: send"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
