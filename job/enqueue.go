package job

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile"
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

// Bulk says what EnqueueAll did.
type Bulk struct {
	Enqueued   int // jobs
	Duplicates int // whose unique key was held
}

// The bounds of what EnqueueAll inserts at once, and so holds in memory.
const (
	bulkJobs  = 1000
	bulkBytes = 4 << 20
)

// EnqueueAll enqueues the jobs of a stream, a thousand or 4 MiB of args at once, each of these parts all or none, and holds no
// more than that in memory. On an error, of the stream or of the store, it stops and returns what was enqueued before it:
// what the stream yielded before its error is.
func EnqueueAll(ctx context.Context, in Inserter, jobs meanwhile.Stream[*Job]) (Bulk, error) {
	var done Bulk
	part, size := make([]*Job, 0, bulkJobs), 0
	flush := func() error {
		results, err := Enqueue(ctx, in, part...)
		for _, r := range results {
			if r.Duplicate {
				done.Duplicates++
			} else {
				done.Enqueued++
			}
		}
		part, size = part[:0], 0
		return err
	}
	for j, err := range jobs {
		if err != nil {
			return done, either(flush(), err)
		}
		part, size = append(part, j), size+len(j.Args)
		if len(part) >= bulkJobs || size >= bulkBytes {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}
