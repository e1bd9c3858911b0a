//go:build unix

package inspect_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestWatchFindsATaskThatHoldsAThread(t *testing.T) {
	for _, declared := range []bool{false, true} {
		f := watched(t, only(TaskBusy), func(ctx context.Context, f *findings) {
			read, write := rawPipe(t)
			task := Async(ctx, func(ctx context.Context) (int, error) {
				if declared {
					return Blocking(ctx, func() (int, error) { return syscall.Read(read, make([]byte, 1)) })
				}
				return syscall.Read(read, make([]byte, 1))
			}, Name("reader"))
			if declared {
				_ = Sleep(ctx, 500*time.Millisecond)
			} else if e := f.wait(t, TaskBusy, about("watched/app/reader")); e.Wait.For != "system call" || e.Wait.On != "read" {
				t.Errorf("got %+v", e)
			}
			_, _ = syscall.Write(write, []byte{1})
			_, _ = task.Wait(ctx)
		})
		if got := f.of(TaskBusy); declared && slices.ContainsFunc(got, func(e Finding) bool { return strings.HasPrefix(e.Path, "watched/app/reader") }) {
			t.Errorf("a call under Blocking was reported: %+v", got)
		}
	}
}

func rawPipe(t *testing.T) (read, write int) {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Close(fds[0]), syscall.Close(fds[1]) })
	return fds[0], fds[1]
}

func TestWatchFindsHeldThreads(t *testing.T) {
	testenv.LongTest(t)
	c := only(ThreadsHeld)
	c.Interval = 1 // the first finding may come before a snapshot has found the tasks where they are
	watched(t, c, func(ctx context.Context, f *findings) {
		read, write := rawPipe(t)
		for range 20 {
			Go(ctx, func(context.Context) error {
				_, err := syscall.Read(read, make([]byte, 1))
				return err
			}, Name("reader"))
		}
		e := f.wait(t, ThreadsHeld, at("watched/app/reader: system call read, watch_unix_test.go:"))
		if e.Count < 10 || len(e.Places) != 1 {
			t.Errorf("got %+v", e)
		}
		_, _ = syscall.Write(write, make([]byte, 20))
	})
}

func crash() {
	_ = Run(context.Background(), func(ctx context.Context) error {
		Watch(ctx, WatchConfig{})
		Go(ctx, func(ctx context.Context) error {
			go func() { panic("leaked") }()
			<-ctx.Done()
			return nil
		}, Name("opener"))
		return nil
	}, Name("app"))
}

// The traceback of a crash names the task that the crashed goroutine belongs to.
func TestCrashNamesTheTask(t *testing.T) {
	if os.Getenv("MEANWHILE_TEST_CRASH") != "" {
		crash()
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "MEANWHILE_TEST_CRASH=1", "GODEBUG=tracebacklabels=1") // the default from Go 1.27 on
	out, err := child.CombinedOutput()
	if err == nil {
		t.Fatal("the program did not crash")
	}
	got := string(out)
	if !strings.Contains(got, "panic: leaked") || !strings.Contains(got, "app/opener") {
		t.Errorf("got %s", got)
	}
}
