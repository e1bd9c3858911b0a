package dash

import (
	"context"
	"errors"

	"github.com/meanwhile-go/meanwhile"
)

// beside reads several things that a page shows at the same time, and returns the first error. The first is read by the caller itself: let it be
// the one that takes longest.
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
		return failed.Err // on the page it does not matter which of them it was
	}
	return err
}
