package fetch

import (
	"context"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile"
)

// heed stops the work at the first signal and exits at the second.
func heed(ctx context.Context, stop context.CancelCauseFunc) {
	stopping := false
	meanwhile.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
		if stopping {
			os.Exit(130)
		}
		stopping = true
		stop(&meanwhile.SignalError{Signal: sig})
		return nil
	}, os.Interrupt, syscall.SIGTERM)
}
