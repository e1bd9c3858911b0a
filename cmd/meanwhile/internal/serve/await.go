package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// How long the store may take to answer at the start, when a database may be starting as well.
const (
	startTime  = time.Minute
	startPause = time.Second
	startCall  = 10 * time.Second
)

// await returns when the store answers and its tables fit; they are migrated if that is wanted. A store that does not answer is asked
// again for a minute.
func (p *plan) await(ctx context.Context, store job.Store) error {
	begun := time.Now()
	for try := 1; ; try++ {
		err := p.ready(ctx, store)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, job.ErrNoSchema):
			return fmt.Errorf("store %s: %w, or serve with --migrate", &p.Target, err)
		case errors.Is(err, job.ErrSchema), ctx.Err() != nil:
			return fmt.Errorf("store %s: %w", &p.Target, err)
		case time.Since(begun)+startPause > startTime:
			return fmt.Errorf("store %s: no answer for %v: %w", &p.Target, startTime, err)
		case try == 1:
			p.logger.Warn("the store does not answer yet; it is tried again for a minute", "store", p.Target.String(), "error", err)
		}
		if err := meanwhile.Sleep(ctx, startPause); err != nil {
			return err
		}
	}
}

func (p *plan) ready(ctx context.Context, store job.Store) error {
	ctx, cancel := context.WithTimeout(ctx, startCall)
	defer cancel()
	if m, ok := store.(interface {
		Migrate(ctx context.Context) error
	}); ok && p.Migrate {
		if err := m.Migrate(ctx); err != nil {
			return err
		}
	}
	return store.Ping(ctx)
}
