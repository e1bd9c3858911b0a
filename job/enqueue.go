package job

import (
	"context"
	"fmt"
)

// Enqueued is the result of enqueuing one job by [Kind.Enqueue] or [Insert].
type Enqueued struct {
	ID        ID   // of the job, or, if it is a duplicate, of the job that holds its unique key
	Duplicate bool // nothing was enqueued
}

// Insert enqueues jobs that were created by [New] or [Kind.New], of any kinds, all or none: in a store, after which they are durable, or in a
// transaction of the caller's. It returns the result for each, in order. For one job of a kind use [Kind.Enqueue]; for more jobs than fit into one
// transaction, [EnqueueAll].
func Insert(ctx context.Context, in Inserter, jobs ...*Job) ([]Enqueued, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	if err := checkMade(jobs...); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	ids, err := in.Insert(ctx, jobs...)
	return enqueued(jobs, ids, err)
}

// enqueued returns the results of jobs for which a store has returned ids.
func enqueued(jobs []*Job, ids []ID, err error) ([]Enqueued, error) {
	if err != nil {
		if len(jobs) == 1 {
			return nil, fmt.Errorf("enqueue %s: %w", jobs[0].Kind, err)
		}
		return nil, fmt.Errorf("enqueue %d jobs: %w", len(jobs), err)
	}
	done := make([]Enqueued, len(jobs))
	for i, id := range ids {
		done[i] = Enqueued{ID: id, Duplicate: id != jobs[i].ID}
	}
	return done, nil
}
