package dash

import (
	"context"
	"errors"

	"github.com/meanwhile-go/meanwhile"
)

// beside runs several reads concurrently, and returns the first error. The first one runs in the calling goroutine, so it should be the slowest.
func beside(ctx context.Context, reads ...func(context.Context) error) error {
	if len(reads) == 0 {
		return nil
	}
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		for _, read := range reads[1:] {
			meanwhile.Go(ctx, read)
		}
		return reads[0](ctx)
	})
	if failed, ok := errors.AsType[*meanwhile.TaskError](err); ok {
		return failed.Err // it does not matter for the page which one failed
	}
	return err
}
