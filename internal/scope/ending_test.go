package scope

import (
	"context"
	"errors"
	"testing"
)

// A task that waits for another one and returns its failure may end before the cancellation that this failure causes has reached it. Among
// many tasks that takes a while. Here it happens in the middle of the end of the task that fails.
func TestDuplicateBeforeItsCancellation(t *testing.T) {
	var run, fails, waits Node
	run.Open(context.Background(), KindRun, nil)
	fails.Open(&run, KindTask, nil)
	waits.Open(&run, KindTask, nil)

	wakeCalled := false
	var end After
	fails.onEnd(&end, WakerFunc(func() {
		wakeCalled = true
		if waits.CanceledBy() != nil {
			t.Error("the scope is canceled before those who wait for the failed task are woken: this test no longer tests what it says")
		}
		waits.Finish(fails.Failure())
	}))
	boom := errors.New("boom")
	fails.Finish(boom)

	if !wakeCalled {
		t.Fatal("the end of the task woke nobody")
	}
	if err := waits.Failure(); !errors.Is(err, boom) || err.Error() != fails.Failure().Error() {
		t.Errorf("the task that waited failed with %v, want %v", err, fails.Failure())
	}
	if err := run.close(nil); err == nil || err.Error() != "task run/#1: boom" {
		t.Errorf("the scope failed with %v, want the failure once", err)
	}
}
