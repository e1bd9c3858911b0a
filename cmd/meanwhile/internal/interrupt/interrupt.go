// Package interrupt stops commands at a signal.
package interrupt

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/process"
)

// Err is the error after a signal, when there is nothing left to report.
var Err = errors.New("interrupted")

// Run calls fn with a ctx that a signal cancels; a second signal exits the process. After a signal an error of fn is replaced by
// [Err]. The name is that of the task tree.
func Run(name string, fn func(ctx context.Context) error) error {
	interrupted := false
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		work, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		Heed(ctx, cancel)
		err := fn(work)
		interrupted = work.Err() != nil
		return err
	}, meanwhile.Name(name))
	if err != nil && interrupted {
		return Err
	}
	return err
}

// Heed calls stop at the first signal and exits the process at the second.
func Heed(ctx context.Context, stop context.CancelCauseFunc) {
	stopping := false
	process.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
		if stopping {
			os.Exit(130)
		}
		stopping = true
		stop(&process.SignalError{Signal: sig})
		return nil
	}, os.Interrupt, syscall.SIGTERM)
}
