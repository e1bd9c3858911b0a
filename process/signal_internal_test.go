//go:build unix

package process

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/meanwhile-go/meanwhile"
)

// A signal has its usual effect again if the scope has no place for the task that was to wait for it.
func TestOnSignalWithoutAPlace(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		leave := make(chan struct{})
		meanwhile.Go(ctx, func(context.Context) error {
			<-leave
			return nil
		})
		defer close(leave)
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		OnSignal(canceled, func(context.Context, os.Signal) error { return nil }, syscall.SIGWINCH)
		return nil
	}, meanwhile.MaxTasks(1))
	if err != nil {
		t.Fatal(err)
	}
	if signalWaiters.has(syscall.SIGWINCH) {
		t.Error("the signal still counts as waited for")
	}
}
