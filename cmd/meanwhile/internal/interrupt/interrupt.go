// Package interrupt lets commands end at a signal.
package interrupt

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/process"
)

// Err is returned after a signal, when there is nothing left to say.
var Err = errors.New("interrupted")

// Run calls fn with a ctx that a signal cancels; a second one exits. After a signal an error of fn is [Err]. The name is
// that of the tree.
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

// Heed stops the work at the first signal and exits at the second.
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
