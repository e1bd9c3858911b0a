package fetch

import (
	"context"
	"fmt"
	"os"

	"github.com/meanwhile-go/meanwhile"
)

// interruption is the cause of a command that a signal stopped.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return fmt.Sprintf("stopped by %s", i.signal) }

// heed stops the work at the first signal and exits at the second.
func heed(ctx context.Context, signals <-chan os.Signal, stop context.CancelCauseFunc, exit func()) error {
	stopping := false
	for signal, err := range meanwhile.Receive(ctx, signals) {
		switch {
		case err != nil:
			return err
		case stopping:
			exit()
			return nil
		}
		stopping = true
		stop(&interruption{signal})
	}
	return nil
}
