package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/job"
)

// How long the store may take to answer at the start: a database may be starting at the same time. Migrations are not limited by it.
const (
	startTime  = time.Minute
	startPause = time.Second
	startCall  = 10 * time.Second
)

// await returns when the store answers and its tables are up to date; with --migrate it migrates them. If the store does not answer, it tries again
// for a minute.
func (p *plan) await(ctx context.Context, store job.Store) error {
	begun := time.Now()
	for try := 1; ; try++ {
		err := jobs.Ping(ctx, store, startCall)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, job.ErrNoSchema), errors.Is(err, job.ErrSchema):
			return p.fit(ctx, store, err)
		case ctx.Err() != nil:
			return fmt.Errorf("store %s: %w", &p.Target, err)
		case time.Since(begun)+startPause > startTime:
			return fmt.Errorf("store %s: no response for %v: %w", &p.Target, startTime, err)
		case try == 1:
			p.logger.Warn("the store does not respond yet; retrying for a minute", "store", p.Target.String(), "error", err)
		}
		if err := meanwhile.Sleep(ctx, startPause); err != nil {
			return err
		}
	}
}

// fit migrates a store that has answered with err, if --migrate is set. The time limit is that of the store, an hour for PostgreSQL: indexes of large
// tables take long.
func (p *plan) fit(ctx context.Context, store job.Store, err error) error {
	m, ok := store.(interface {
		Migrate(ctx context.Context) error
	})
	switch {
	case ok && p.Migrate:
		p.logger.Info("migrating the tables of the store", "store", p.Target.String())
		err = m.Migrate(ctx)
	case errors.Is(err, job.ErrNoSchema):
		err = fmt.Errorf("%w, or serve with --migrate", err)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", &p.Target, err)
	}
	return nil
}
