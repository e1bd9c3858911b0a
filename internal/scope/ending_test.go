package scope

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errBoom = errors.New("boom")

// A task that waits for another one and returns its failure may end before the cancellation that this failure causes has reached it: among
// many tasks that takes a while. Here it ends in the middle of the end of the task that fails.
func TestDuplicateBeforeItsCancellation(t *testing.T) {
	var run, fails, waits Node
	run.Open(context.Background(), KindRun, nil)
	fails.Open(&run, KindTask, nil)
	waits.Open(&run, KindTask, nil)

	woken := false
	var end After
	fails.onEnd(&end, WakerFunc(func() {
		woken = true
		if run.CanceledBy() != nil {
			t.Error("the scope is canceled before those who wait for the failed task are woken: this test needs another way")
		}
		waits.Finish(fails.Failure())
	}))
	fails.Finish(errBoom)

	if !woken {
		t.Fatal("the end of the task woke nobody")
	}
	wantText(t, "the task that waited", waits.Failure(), "task run/#1: boom")
	wantText(t, "the scope", run.close(nil), "task run/#1: boom")
}

// A cancellation goes down the tree from task to task. These tasks end when it has reached the scope, but not yet them.
func TestEndBeforeTheCancellationArrives(t *testing.T) {
	open := func() (run, task, below *Node, c *cancellation) {
		run, task, below = new(Node), new(Node), new(Node)
		run.Open(context.Background(), KindRun, nil)
		task.Open(run, KindTask, nil)
		below.Open(task, KindTask, nil)
		c = &cancellation{err: context.Canceled, Cause: errors.New("a cause"), from: run}
		run.canceled.Store(c)
		return run, task, below, c
	}
	t.Run("a task below has failed", func(t *testing.T) {
		run, task, below, _ := open()
		below.Finish(errBoom)
		task.Finish(nil)
		wantText(t, "the task", task.Failure(), "task run/#1/#1: boom")
		wantText(t, "the scope", run.close(nil), "task run/#1/#1: boom")
	})
	t.Run("a task below has returned the error of a ctx above", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			run, task, below, c := open()
			go task.Finish(nil)
			synctest.Wait() // the task waits for the one below
			below.Finish(run.Err())
			synctest.Wait()
			wantText(t, "the task below", below.Failure(), "task run/#1/#1: context canceled: a cause")
			wantText(t, "the task", task.Failure(), "task run/#1: context canceled: a cause")
			if err := run.close(nil); err != c.Failure() {
				t.Errorf("the scope ended with %v, want %v", err, c.Failure())
			}
		})
	})
	t.Run("a scope between is canceled by another one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			run, task, below, c := open()
			below.canceled.Store(c)
			task.canceled.Store(&cancellation{err: context.DeadlineExceeded, Cause: errors.New("late"), from: task})
			go task.Finish(nil)
			synctest.Wait()
			below.Finish(context.Canceled)
			synctest.Wait()
			wantText(t, "the task", task.Failure(), "task run/#1: context deadline exceeded: late")
			wantText(t, "the scope", run.close(nil), "task run/#1: context deadline exceeded: late")
			if !run.Is(isCut) {
				t.Error("the scope is not marked as one that was kept from finishing its work")
			}
		})
	})
	t.Run("a shield below", func(t *testing.T) {
		run, _, _, _ := open()
		var shield, below Node
		shield.More().Grace = time.Hour
		shield.Open(run, KindShield, nil)
		defer shield.close(nil)
		below.Open(&shield, KindTask, nil)
		below.Finish(run.Err()) // the shield was not canceled: this is a failure
		wantText(t, "the task below the shield", below.Failure(), "task run/shield/#1: context canceled")
	})
}

// A ctx whose Done is asked for when its task has ended can still be canceled.
func TestDoneOfAnEndedTask(t *testing.T) {
	t.Run("after its end", func(t *testing.T) {
		var run, task Node
		run.Open(context.Background(), KindRun, nil)
		task.Open(&run, KindTask, nil)
		task.Finish(nil)
		<-task.Done()
		if task.CancelBecause(nil) {
			t.Error("the cancellation of an ended task says that the task was still live")
		}
		<-task.Done()
	})
	t.Run("while it fails its scope", func(t *testing.T) {
		var run, task Node
		run.Open(context.Background(), KindRun, nil)
		task.Open(&run, KindTask, nil)
		asked := false
		var end After
		task.onEnd(&end, WakerFunc(func() {
			<-task.Done()
			asked = true
		}))
		task.Finish(errBoom)
		if !asked {
			t.Fatal("the end of the task woke nobody")
		}
		wantText(t, "the scope", run.close(nil), "task run/#1: boom")
	})
}

type panickingObserver struct{}

func (panickingObserver) TaskStarted(string)                     {}
func (panickingObserver) TaskEnded(string, error, time.Duration) { panic("the observer is broken") }

// Nothing is left above a scope that has ended to which the panic of its observer could be reported: it is logged.
func TestPanicOfAnObserverAfterTheEnd(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var logged bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))

	var run Node
	run.Open(context.Background(), KindRun, &Settings{Observe: panickingObserver{}})
	run.childTasks.below.join()
	run.FailLater(errBoom)
	for _, want := range []string{"boom", "the observer is broken"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not contain %q: %s", want, &logged)
		}
	}
}

// A task that stops at one that has a failure relies on it that the tasks above that one have a failure, too.
func TestLateFailureReachesTheTasksAbove(t *testing.T) {
	var run, upper, lower Node
	run.Open(context.Background(), KindRun, nil)
	upper.Open(&run, KindTask, nil)
	lower.Open(&upper, KindTask, nil)
	lower.FailLater(errBoom)
	lower.Finish(nil)
	upper.Finish(nil)
	for name, n := range map[string]*Node{"the task": &lower, "the task above": &upper} {
		if err := n.Failure(); !errors.Is(err, errBoom) {
			t.Errorf("%s ended with %v, want %v", name, err, errBoom)
		}
	}
	if err := run.close(nil); err != errBoom {
		t.Errorf("the scope ended with %v, want %v", err, errBoom)
	}
}

func wantText(t *testing.T, who string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%s ended with %v, want %s", who, err, want)
	}
}
