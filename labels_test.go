package meanwhile_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// blocked calls start n times to start tasks that wait, calls while when all of them wait, and then ends them.
func blocked(t *testing.T, n int, start func(ctx context.Context, i int, wait func(context.Context) error), while func(ctx context.Context)) {
	t.Helper()
	var ready sync.WaitGroup
	ready.Add(n)
	release := make(chan struct{})
	wait := func(context.Context) error {
		ready.Done()
		<-release
		return nil
	}
	err := Run(t.Context(), func(ctx context.Context) error {
		defer close(release)
		for i := range n {
			start(ctx, i, wait)
		}
		ready.Wait()
		while(ctx)
		return nil
	}, Name("labels"))
	if err != nil {
		t.Error(err)
	}
}

// goroutineProfile returns what /debug/pprof/goroutine?debug=1 serves.
func goroutineProfile(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProfilesGroupEqualTasks(t *testing.T) {
	const tasks = 10_000
	blocked(t, tasks, func(ctx context.Context, _ int, wait func(context.Context) error) { Go(ctx, wait) }, func(context.Context) {
		until := time.Now().Add(20 * time.Second)
		for {
			profile := goroutineProfile(t)
			groups := strings.Count(profile, `labels: {"task":"labels/#"}`)
			if groups >= 1 && groups <= 3 && strings.Contains(profile, fmt.Sprint(tasks, " @ ")) {
				return
			}
			if time.Now().After(until) { // some tasks may not have reached their wait yet
				t.Fatalf("%d groups:\n%.2000s", groups, profile)
			}
		}
	})
}

// IDs are in paths but not in labels: there are too many of them.
func TestIDsAreNoLabels(t *testing.T) {
	blocked(t, 100, func(ctx context.Context, i int, wait func(context.Context) error) {
		Go(ctx, wait, Name("order"), ID(fmt.Sprint("no. ", i)))
		Go(ctx, func(context.Context) error { return nil }, ID(fmt.Sprint(i)))
	}, func(ctx context.Context) {
		if tree := Tree(ctx); !slices.ContainsFunc(tree.Tasks, func(n Node) bool { return n.Path == "labels/order no. 7" }) {
			t.Errorf("no task has the path: %v", tree)
		}
		if profile := goroutineProfile(t); strings.Contains(profile, "no. ") || !strings.Contains(profile, `{"task":"labels/order"}`) {
			t.Errorf("got %.2000s", profile)
		}
	})
}

func TestTasksKeepTheLabelsOfTheirCallers(t *testing.T) {
	const tasks = 500
	blocked(t, tasks, func(ctx context.Context, i int, wait func(context.Context) error) {
		pprof.Do(ctx, pprof.Labels("customer", fmt.Sprint(i)), func(ctx context.Context) {
			Go(ctx, wait, Name("order"))
		})
	}, func(context.Context) {
		profile := goroutineProfile(t)
		for i := range tasks {
			want := fmt.Sprintf(`labels: {"customer":"%d", "task":"labels/order"}`, i)
			if !strings.Contains(profile, want) {
				t.Fatalf("no goroutine has %s:\n%.2000s", want, profile)
			}
		}
	})
}

// labelsNow returns the labels of the calling goroutine, as its profile shows them.
func labelsNow(t *testing.T) string {
	t.Helper()
	for block := range strings.SplitSeq(goroutineProfile(t), "\n\n") {
		if strings.Contains(block, "labelsNow") {
			_, labels, _ := strings.Cut(block, "# labels: ")
			labels, _, _ = strings.Cut(labels, "\n")
			return labels
		}
	}
	t.Fatal("the profile has no such goroutine")
	return ""
}

func TestLabelsAreRestored(t *testing.T) {
	pprof.Do(t.Context(), pprof.Labels("request", "7"), func(ctx context.Context) {
		err := Run(ctx, func(ctx context.Context) error {
			if got, want := labelsNow(t), `{"request":"7", "task":"outer"}`; got != want {
				t.Errorf("in the scope: %s, want %s", got, want)
			}
			pprof.Do(ctx, pprof.Labels("step", "1"), func(ctx context.Context) {
				if got, want := labelsNow(t), `{"request":"7", "step":"1", "task":"outer"}`; got != want {
					t.Errorf("in pprof.Do: %s, want %s", got, want)
				}
				if n := Tree(ctx); n.Wait.For != "running" || !strings.HasSuffix(n.Wait.File, "labels_test.go") {
					t.Errorf("in pprof.Do the task is described as %v", n.Wait)
				}
			})
			if n := Tree(ctx); n.Wait.For != "running" || n.Wait.Call != "github.com/meanwhile-go/meanwhile/inspect.Tree" {
				t.Errorf("after pprof.Do the task is described as %v", n.Wait)
			}
			return nil
		}, Name("outer"))
		if err != nil {
			t.Error(err)
		}
		if got, want := labelsNow(t), `{"request":"7"}`; got != want {
			t.Errorf("after the scope: %s, want %s", got, want)
		}
	})
}

type heldKey struct{}

// A leaked goroutine of a task, with the label of that task, must not keep the task in memory.
func TestALeakedGoroutineDoesNotKeepItsTask(t *testing.T) {
	release, collected := make(chan struct{}), make(chan struct{})
	defer close(release)
	err := Run(t.Context(), func(ctx context.Context) error {
		Go(ctx, func(ctx context.Context) error {
			held := new([1 << 20]byte)
			runtime.AddCleanup(held, func(c chan struct{}) { close(c) }, collected)
			go func() { <-release }()
			ctx = context.WithValue(ctx, heldKey{}, held)
			Go(ctx, func(context.Context) error { go func() { <-release }(); return nil })
			return nil
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for begun := time.Now(); ; runtime.GC() {
		select {
		case <-collected:
			return
		default:
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the value in the ctx of an ended task is not collected")
		}
	}
}

var sink atomic.Pointer[[64 << 10]byte]

// The runtime keeps a record for each distinct stack that allocates: tasks must not make their stacks distinct.
func TestTasksDoNotMultiplyStacks(t *testing.T) {
	testenv.LongTest(t)
	allocate := func(tasks int) {
		err := Run(t.Context(), func(ctx context.Context) error {
			limit := NewSemaphore(64)
			for range tasks {
				if err := limit.Acquire(ctx, 1); err != nil {
					return err
				}
				Go(ctx, func(context.Context) error {
					defer limit.Release(1)
					sink.Store(new([64 << 10]byte))
					return nil
				})
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	var before, after runtime.MemStats
	allocate(2_000)
	runtime.ReadMemStats(&before)
	allocate(30_000)
	runtime.ReadMemStats(&after)
	if grown := int64(after.BuckHashSys) - int64(before.BuckHashSys); grown > 64<<10 {
		t.Errorf("the runtime's records of stacks have grown by %d bytes, want at most 64 KiB", grown)
	}
}

// Tasks below one scope have the labels of their own names, however many there are and in whatever order they start.
func TestManyTasksInTurnsKeepTheirNames(t *testing.T) {
	names := []string{"read", "", "read", "write", ""}
	want := []string{"run/read", "run/#", "run/read", "run/write", "run/#"}
	err := Run(t.Context(), func(ctx context.Context) error {
		for i := range 200 {
			i %= len(names)
			opts := []TaskOption{Name(names[i])}
			if names[i] == "" {
				opts = nil
			}
			Go(ctx, func(ctx context.Context) error {
				if got, _ := pprof.Label(ctx, "task"); got != want[i] {
					return fmt.Errorf("task %q has the label %q, want %q", names[i], got, want[i])
				}
				return nil
			}, opts...)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
