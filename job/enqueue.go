package job

import (
	"context"
	"fmt"
)

// Enqueued says what Enqueue did.
type Enqueued struct {
	ID        ID   // of the job, or, when it is a duplicate, of the one that holds its unique key
	Duplicate bool // nothing was enqueued
}

// Enqueue enqueues jobs, all or none: in a store, after which they are durable, or in a transaction of the caller's. It
// returns what became of each, in order. Jobs come from [New] or [Kind.New].
func Enqueue(ctx context.Context, in Inserter, jobs ...*Job) ([]Enqueued, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	ids, err := in.Insert(ctx, jobs...)
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
