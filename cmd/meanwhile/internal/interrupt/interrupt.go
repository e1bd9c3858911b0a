// Package interrupt stops commands at a signal.
package interrupt

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
	"github.com/meanwhile-go/meanwhile/process"
)

// Err is the error after a signal, when there is nothing left to report.
var Err = errors.New("interrupted")

// Run calls fn with a ctx that a signal cancels; a second signal exits the process. An error of fn that consists only of this
// cancellation is replaced by [Err]; any other is returned as it is, also after a signal. The name is that of the task tree.
func Run(name string, fn func(ctx context.Context) error) error {
	var cause error
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		work, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		Heed(ctx, cancel)
		err := fn(work)
		cause = context.Cause(work)
		return err
	}, meanwhile.Name(name))
	if signal, ok := cause.(*process.SignalError); ok && err != nil && consistsOf(err, signal) {
		return Err
	}
	return err
}

// consistsOf reports whether err consists only of the cancellation by the signal.
func consistsOf(err error, signal *process.SignalError) bool {
	other := false
	complete := scope.WalkErrors(err, func(err error, leaf bool) bool {
		_, panicked := err.(*meanwhile.PanicError)
		other = other || panicked || leaf && err != error(signal) && !errors.Is(err, context.Canceled)
		return other
	})
	return complete && !other
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
