package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// A row is a job as it is read: the columns that all three tables have, and those that only some have.
type row struct {
	id                                       pgtype.UUID // null if there is no job
	runAt, created, started, finished        pgtype.Timestamptz
	uniqueFor                                pgtype.Interval
	priority                                 pgtype.Int2
	attempt, uncounted, crashed, maxAttempts pgtype.Int4
	queue, kind, args, worker                pgtype.Text
	uniqueKey, detail, options               pgtype.Text
	cancelRequested                          pgtype.Bool
	state                                    pgtype.Text
}

// common returns the scan targets of the columns that all tables have, in their order.
func (r *row) common() []any {
	return []any{
		&r.id, &r.runAt, &r.created, &r.started, &r.uniqueFor, &r.priority, &r.attempt, &r.uncounted, &r.crashed, &r.maxAttempts,
		&r.queue, &r.kind, &r.worker, &r.uniqueKey, &r.args, &r.detail, &r.options,
	}
}

// all returns the scan targets of any table: the common columns, then cancel_requested, finished and state.
func (r *row) all() []any { return append(r.common(), &r.cancelRequested, &r.finished, &r.state) }

// job returns the job of a row.
func (r *row) job() (*job.Job, error) {
	j := &job.Job{
		ID: r.id.Bytes, Kind: r.kind.String, Queue: r.queue.String, Args: []byte(r.args.String), State: job.State(r.state.String),
		Priority: int(r.priority.Int16), Attempt: int(r.attempt.Int32), Uncounted: int(r.uncounted.Int32), Crashed: int(r.crashed.Int32),
		MaxAttempts: int(r.maxAttempts.Int32), UniqueKey: r.uniqueKey.String, UniqueFor: duration(r.uniqueFor),
		Created: timeOf(r.created), RunAt: timeOf(r.runAt), Started: timeOf(r.started), Finished: timeOf(r.finished),
		Worker: r.worker.String, CancelRequested: r.cancelRequested.Bool,
	}
	if r.detail.Valid {
		if err := j.DecodeDetail([]byte(r.detail.String)); err != nil {
			return nil, fmt.Errorf("detail of job %v: %w", j.ID, err)
		}
	}
	if r.options.Valid {
		if err := j.DecodeOptions([]byte(r.options.String)); err != nil {
			return nil, fmt.Errorf("options of job %v: %w", j.ID, err)
		}
	}
	return j, nil
}

func timeOf(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}
