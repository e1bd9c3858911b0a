package fetch

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/meanwhile-go/meanwhile"
)

func TestHeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		work, stop := context.WithCancelCause(t.Context())
		exited := make(chan struct{})
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				return heed(ctx, signals, stop, func() { close(exited) })
			})
			signals <- os.Interrupt
			<-work.Done()
			if got, want := context.Cause(work).Error(), "stopped by interrupt"; got != want {
				t.Errorf("got cause %q, want %q", got, want)
			}
			select {
			case <-exited:
				t.Error("exited at the first signal")
			default:
			}
			signals <- syscall.SIGTERM
			<-exited
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
