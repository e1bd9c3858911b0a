//go:build !windows

package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestRun: after a signal, only an error that consists of the cancellation is replaced.
func TestRun(t *testing.T) {
	failed := errors.New("the disk is full")
	for name, test := range map[string]struct {
		of   func(ctx context.Context) error
		want error
	}{
		"success":                   {func(context.Context) error { return nil }, nil},
		"ctx.Err":                   {func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) }, Err},
		"the cause":                 {context.Cause, Err},
		"both":                      {func(ctx context.Context) error { return errors.Join(ctx.Err(), context.Cause(ctx)) }, Err},
		"a failure":                 {func(context.Context) error { return failed }, failed},
		"the cause and a failure":   {func(ctx context.Context) error { return errors.Join(context.Cause(ctx), failed) }, failed},
		"a deadline":                {func(context.Context) error { return context.DeadlineExceeded }, context.DeadlineExceeded},
		"the cause after a failure": {func(ctx context.Context) error { return fmt.Errorf("%w; %w", failed, context.Cause(ctx)) }, failed},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run("test", func(ctx context.Context) error {
				if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
					return err
				}
				<-ctx.Done()
				return test.of(ctx)
			})
			if !errors.Is(err, test.want) || test.want != Err && errors.Is(err, Err) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
