package inspect_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

// findings collects the reports of a watch.
type findings struct {
	mu   sync.Mutex
	list []Finding
	came chan struct{} // receives after each of them
}

func newFindings() *findings { return &findings{came: make(chan struct{}, 1000)} }

func (f *findings) report(e Finding) {
	if e.Kind < TaskBusy {
		return
	}
	f.mu.Lock()
	f.list = append(f.list, e)
	f.mu.Unlock()
	f.came <- struct{}{}
}

func (f *findings) of(kind FindingKind) (list []Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.list {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// wait returns the first finding of a kind that satisfies wanted: on a busy machine there may be others.
func (f *findings) wait(t *testing.T, kind FindingKind, wanted func(Finding) bool) Finding {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		list := f.of(kind)
		if i := slices.IndexFunc(list, wanted); i >= 0 {
			return list[i]
		}
		select {
		case <-f.came:
		case <-timeout:
			t.Errorf("no wanted finding of kind %v, only %+v", kind, list)
			return Finding{}
		}
	}
}

// about selects findings about the task with the path.
func about(path string) func(Finding) bool { return func(e Finding) bool { return e.Path == path } }

// at selects findings with the place in their list.
func at(place string) func(Finding) bool {
	return func(e Finding) bool {
		return slices.ContainsFunc(e.Places, func(p string) bool { return strings.Contains(p, place) })
	}
}

var quiet = slog.New(slog.DiscardHandler)

// only returns the config of a watch that reports only one kind of finding.
func only(kind FindingKind) WatchConfig {
	c := WatchConfig{Busy: -1, CancellationIgnored: -1, GoroutineLeaked: -1, Threads: -1, SchedulingLatency: -1, PileUp: -1, Interval: time.Minute, Log: quiet}
	switch kind {
	case TaskBusy:
		c.Busy = 100 * time.Millisecond
	case CancellationIgnored:
		c.CancellationIgnored = 10 * time.Second
	case GoroutineLeaked:
		c.GoroutineLeaked = time.Second
	case ThreadsHeld:
		c.Threads = 10
	case SchedulingLatency:
		c.SchedulingLatency = time.Millisecond
	case TasksPileUp:
		c.PileUp = 50
	}
	return c
}

// watched runs fn below a watch and returns the watch's findings.
func watched(t *testing.T, c WatchConfig, fn func(ctx context.Context, f *findings)) *findings {
	t.Helper()
	f := newFindings()
	c.Report = f.report
	err := Run(t.Context(), func(ctx context.Context) error {
		Watch(ctx, c)
		return Run(ctx, func(ctx context.Context) error {
			fn(ctx, f)
			return nil
		}, Name("app"))
	}, Name("watched"))
	if err != nil {
		t.Error(err)
	}
	return f
}

func TestWatchFindsABusyTask(t *testing.T) {
	watched(t, only(TaskBusy), func(ctx context.Context, f *findings) {
		var stop atomic.Bool
		Go(ctx, func(context.Context) error {
			spin(&stop)
			return nil
		}, Name("spinner"))
		Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) }, Name("sleeper"), InBackground())
		e := f.wait(t, TaskBusy, about("watched/app/spinner"))
		stop.Store(true)
		if e.Elapsed < 100*time.Millisecond || e.Wait.For != "running" ||
			!strings.HasSuffix(e.Wait.Func, ".spin") || e.Wait.Line == 0 {
			t.Errorf("got %+v", e)
		}
	})
}

func spin(stop *atomic.Bool) {
	for n := 0; !stop.Load(); n++ {
		if n%1000 == 0 {
			runtime.Gosched()
		}
	}
}

func TestWatchFindsATaskThatIgnoresItsCancellation(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		f := watched(t, only(CancellationIgnored), func(ctx context.Context, _ *findings) {
			ignores := Go(ctx, func(ctx context.Context) error {
				return Run(ctx, func(ctx context.Context) error {
					time.Sleep(5*time.Minute + 993*time.Millisecond) // it ends between two snapshots: one that it woke up in would find it elsewhere
					return nil
				}, Name("inner"))
			}, Name("ignores"))
			obeys := Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, Name("obeys"))
			ignores.Cancel(nil)
			obeys.Cancel(nil)
			_, _ = ignores.Wait(ctx)
		})
		got := f.of(CancellationIgnored)
		if len(got) != 5 {
			t.Errorf("%d reports in five minutes, want one each", len(got))
		}
		for i, e := range got {
			want := 10*time.Second + time.Duration(i)*time.Minute
			late := time.Duration(i+1) * 3 * time.Second // each may wait for one more snapshot
			if e.Elapsed < want || e.Elapsed > want+late {
				t.Errorf("report %d: after %v, want %v, or up to %v later", i, e.Elapsed, want, late)
			}
			if e.Path != "watched/app/ignores/inner" || e.Wait.For != "sleep" || e.Wait.Line == 0 {
				t.Errorf("got %+v", e)
			}
		}
	})
}

func TestWatchFindsADeadlock(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		f := watched(t, only(TaskDeadlock), func(ctx context.Context, _ *findings) {
			there := make(chan *Task[struct{}], 1)
			var a, b *Task[struct{}]
			a = Go(ctx, func(ctx context.Context) error { _, err := (<-there).Wait(ctx); return err }, Name("a"))
			b = Go(ctx, func(ctx context.Context) error { _, _ = a.Wait(ctx); return nil }, Name("b"))
			there <- b
			_ = Sleep(ctx, 30*time.Second)
			a.Cancel(nil)
		})
		got := f.of(TaskDeadlock)
		if len(got) != 2 {
			t.Fatalf("got %+v, want one report for each task", got)
		}
		for i, want := range [][2]string{{"watched/app/a", "watched/app/b"}, {"watched/app/b", "watched/app/a"}} {
			if e := got[i]; e.Path != want[0] || e.Wait.On != want[1] || !e.Wait.Deadlock || e.Elapsed == 0 {
				t.Errorf("got %+v", e)
			}
		}
	})
}

// Tasks that acquire semaphores in opposite order are reported with what each waits for, and which task acquired that.
func TestWatchFindsADeadlockOfSemaphores(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		f := watched(t, only(TaskDeadlock), func(ctx context.Context, _ *findings) {
			one, two := NewSemaphore(1), NewSemaphore(1)
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			done := make(chan bool, 2)
			Go(ctx, func(ctx context.Context) error {
				defer func() { done <- true }()
				_ = one.Acquire(ctx, 1)
				defer one.Release(1)
				_ = Sleep(ctx, time.Second)
				_ = two.Acquire(ctx, 1)
				return nil
			}, Name("a"))
			Go(ctx, func(ctx context.Context) error {
				defer func() { done <- true }()
				_ = two.Acquire(ctx, 1)
				defer two.Release(1)
				_ = Sleep(ctx, time.Second)
				_ = one.Acquire(ctx, 1)
				return nil
			}, Name("b"))
			<-done
			<-done
		})
		got := f.of(TaskDeadlock)
		if len(got) != 2 {
			t.Fatalf("got %+v, want one report for each task", got)
		}
		for i, want := range [][2]string{{"watched/app/a", "taken by watched/app/b"}, {"watched/app/b", "taken by watched/app/a"}} {
			if e := got[i]; e.Path != want[0] || !strings.HasSuffix(e.Wait.On, want[1]) || !e.Wait.Deadlock || e.Elapsed < time.Second {
				t.Errorf("got %+v", e)
			}
		}
	})
}

// One finding stands for all tasks with the same problem at one place, and counts them.
func TestWatchCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := watched(t, only(CancellationIgnored), func(ctx context.Context, _ *findings) {
			var tasks []*Task[struct{}]
			for range 7 {
				tasks = append(tasks, Go(ctx, func(context.Context) error {
					time.Sleep(30 * time.Second)
					return nil
				}))
			}
			for _, task := range tasks {
				task.Cancel(nil)
			}
			for _, task := range tasks {
				_, _ = task.Wait(ctx)
			}
		})
		if got := f.of(CancellationIgnored); len(got) != 1 || got[0].Count != 7 {
			t.Errorf("got %+v, want one finding that counts 7", got)
		}
	})
}

func TestWatchFindsTasksThatPileUp(t *testing.T) {
	send := func(ctx context.Context, to chan int) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
			to <- 1
			return nil
		}
	}
	tests := map[string]struct {
		found bool
		run   func(ctx context.Context, to chan int)
	}{
		"more and more": {true, func(ctx context.Context, to chan int) {
			for range 200 {
				Go(ctx, func(ctx context.Context) error { return send(ctx, to) })
				_ = Sleep(ctx, 400*time.Millisecond)
			}
		}},
		"many at once": {false, func(ctx context.Context, to chan int) {
			for range 200 {
				Go(ctx, func(ctx context.Context) error { return send(ctx, to) })
			}
			_ = Sleep(ctx, 3*time.Minute)
		}},
		"more and more that wait shortly": {false, func(ctx context.Context, to chan int) {
			for second := range 180 {
				for range second {
					Go(ctx, func(ctx context.Context) error { return send(ctx, to) })
				}
				_ = Sleep(ctx, time.Second)
				for range second {
					<-to
				}
			}
		}},
		"more and more that wait for work": {false, func(ctx context.Context, to chan int) {
			for range 300 {
				Go(ctx, func(context.Context) error { <-to; return nil })
				_ = Sleep(ctx, 400*time.Millisecond)
			}
			for range 300 {
				to <- 1
			}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.found {
				testenv.NeedExact(t)
			}
			synctest.Test(t, func(t *testing.T) {
				f := watched(t, only(TasksPileUp), func(ctx context.Context, _ *findings) {
					to := make(chan int)
					Go(ctx, func(context.Context) error { test.run(ctx, to); return nil })
					_ = Sleep(ctx, 5*time.Minute)
					for _, n := range Tree(ctx).Tasks { // ends the remaining tasks
						if n.Wait.For == "send" {
							<-to
						}
					}
				})
				got := f.of(TasksPileUp)
				if (len(got) > 0) != test.found {
					t.Fatalf("got %+v, found should be %v", got, test.found)
				}
				for _, e := range got {
					if e.Count < 50 || e.Count < 4*e.Before || e.Wait.For != "send" || e.Wait.Line == 0 || e.Path == "" {
						t.Errorf("got %+v", e)
					}
				}
			})
		})
	}
}

func TestWatchFindsLeakedGoroutines(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		f := watched(t, only(GoroutineLeaked), func(ctx context.Context, _ *findings) {
			stop := make(chan struct{})
			Go(ctx, func(context.Context) error {
				for range 3 {
					go strayed(stop)
				}
				go func() { time.Sleep(100 * time.Millisecond) }() // runs longer than the task, but not for long
				return nil
			}, Name("opener"))
			Go(ctx, func(context.Context) error {
				go func() { <-stop }()
				<-stop
				return nil
			}, Name("waits for its own"))
			_ = Sleep(ctx, 3*time.Minute)
			close(stop)
		})
		got := f.of(GoroutineLeaked)
		if len(got) != 3 {
			t.Errorf("%d reports in three minutes, want one each", len(got))
		}
		for _, e := range got {
			if e.Path != "watched/app/opener" || e.Count != 3 || e.Wait.For != "receive" || !strings.HasSuffix(e.Wait.Func, ".strayed") {
				t.Errorf("got %+v", e)
			}
			if len(e.Places) != 1 || !strings.Contains(e.Places[0], "watch_test.go:") {
				t.Errorf("started at %q", e.Places)
			}
		}
	})
}

func strayed(stop chan struct{}) { <-stop }

// The goroutines that the standard library keeps for connections are not reported as leaked.
func TestWatchKnowsThePoolsOfTheStandardLibrary(t *testing.T) {
	testenv.NeedExact(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	c := only(GoroutineLeaked)
	c.GoroutineLeaked = 50 * time.Millisecond
	f := watched(t, c, func(ctx context.Context, f *findings) {
		Go(ctx, func(context.Context) error {
			response, err := client.Get(server.URL)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			go func() { <-ctx.Done() }() // the one that is reported
			return err
		})
		f.wait(t, GoroutineLeaked, func(Finding) bool { return true })
	})
	for _, e := range f.of(GoroutineLeaked) {
		if !strings.HasPrefix(e.Wait.Func, "github.com/meanwhile-go/meanwhile/inspect_test.TestWatchKnows") {
			t.Errorf("got %+v", e)
		}
	}
}

func TestWatchFindsSchedulingLatency(t *testing.T) {
	testenv.NeedExact(t)
	c := only(SchedulingLatency)
	c.Interval = 1 // the first finding may come before the tasks have started
	watched(t, c, func(ctx context.Context, f *findings) {
		var stop atomic.Bool
		for range 8 * runtime.GOMAXPROCS(0) {
			Go(ctx, func(context.Context) error {
				for n := 0; !stop.Load(); n++ {
				}
				return nil
			}, Name("computes"))
		}
		e := f.wait(t, SchedulingLatency, at("watched/app/computes: running"))
		stop.Store(true)
		if e.Elapsed < time.Millisecond || e.Path != "" {
			t.Errorf("got %+v", e)
		}
	})
}

func TestWatchWritesALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := only(CancellationIgnored)
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		watched(t, c, func(ctx context.Context, _ *findings) {
			Go(ctx, func(context.Context) error {
				time.Sleep(time.Minute - 7*time.Millisecond) // it ends between two snapshots: one that it woke up in would find it elsewhere
				return nil
			}, Name("ignores")).Cancel(nil)
		})
		for _, want := range []string{
			"level=WARN", `msg="a task goes on though it was canceled"`, "task=watched/app/ignores", "elapsed=1", `wait="sleep, watch_test.go:`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not in the log: %s", want, &log)
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 {
			t.Errorf("%d lines in the log", lines)
		}
	})
}

// A watch whose thresholds are all off runs, and finds nothing.
func TestWatchWithoutThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := watched(t, only(TaskDeadlock), func(ctx context.Context, _ *findings) {
			Go(ctx, func(context.Context) error {
				go time.Sleep(time.Minute)
				time.Sleep(10 * time.Minute)
				return nil
			}).Cancel(nil)
		})
		if len(f.list) > 0 {
			t.Errorf("found %+v", f.list)
		}
	})
}

// Tasks that start under a watch have profiler labels. The program can add its own, and cannot remove these.
func TestWatchLabelsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watched(t, only(CancellationIgnored), func(ctx context.Context, _ *findings) {
			synctest.Wait() // until the watch has started
			Go(ctx, func(ctx context.Context) error {
				show := func(ctx context.Context) [2]string {
					task, _ := pprof.Label(ctx, "task")
					own, _ := pprof.Label(ctx, "own")
					return [2]string{task, own}
				}
				pprof.Do(ctx, pprof.Labels("own", "1"), func(ctx context.Context) {
					if got, want := show(ctx), [2]string{"watched/app/labeled", "1"}; got != want {
						t.Errorf("got %q, want %q", got, want)
					}
					_ = Run(ctx, func(ctx context.Context) error {
						if got, want := show(ctx), [2]string{"watched/app/labeled/inner", "1"}; got != want {
							t.Errorf("in a scope: got %q, want %q", got, want)
						}
						return nil
					}, Name("inner"))
				})
				if got, want := show(ctx), [2]string{"watched/app/labeled", ""}; got != want {
					t.Errorf("afterwards: got %q, want %q", got, want)
				}
				if profile := goroutines(t); !strings.Contains(profile, `"task":"watched/app/labeled"`) {
					t.Errorf("the goroutine no longer has its label:\n%s", profile)
				}
				return nil
			}, Name("labeled"))
		})
	})
}

func goroutines(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		t.Error(err)
	}
	return text.String()
}
