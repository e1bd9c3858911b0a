package job

import (
	"context"
	"errors"

	"github.com/meanwhile-go/meanwhile"
)

// Bulk reports what EnqueueAll did.
type Bulk struct {
	Enqueued   int // jobs that were enqueued
	Duplicates int // jobs that were not, because their unique key was held
}

// The bounds of one part of EnqueueAll: the number of jobs, and the bytes of their args.
const (
	bulkJobs  = 1000
	bulkBytes = 4 << 20
)

// bulkParts is how many parts EnqueueAll inserts concurrently: while one is written to disk, the next is prepared.
const bulkParts = 2

// EnqueueAll enqueues the jobs of a stream, in parts of a thousand jobs or 4 MiB of args. Each part is inserted all or none. EnqueueAll holds no
// more than two parts in memory; it inserts two concurrently into a store, or one after the other in a transaction. On an error of the stream or of
// the store, it stops and returns what was enqueued so far; jobs that the stream yielded before its error are enqueued. A part that was being
// inserted when another failed may be stored without being counted.
func EnqueueAll(ctx context.Context, in Inserter, jobs meanwhile.Stream[*Job]) (Bulk, error) {
	insert := func(ctx context.Context, part []*Job) ([]Enqueued, error) { return Insert(ctx, in, part...) }
	inserted := inTurn(ctx, parts(jobs), insert)
	if _, store := in.(Store); store {
		inserted = meanwhile.Map(ctx, parts(jobs), insert, meanwhile.Limit(bulkParts), meanwhile.Name("enqueue"))
	}
	var done Bulk
	for results, err := range inserted {
		if item, ok := errors.AsType[*meanwhile.ItemError](err); ok {
			err = item.Err
		}
		if err != nil {
			return done, err
		}
		for _, r := range results {
			if r.Duplicate {
				done.Duplicates++
			} else {
				done.Enqueued++
			}
		}
	}
	return done, nil
}

// parts cuts a stream into parts that are inserted together. An error of the stream comes after the jobs before it.
func parts(jobs meanwhile.Stream[*Job]) meanwhile.Stream[[]*Job] {
	return func(yield func([]*Job, error) bool) {
		var part []*Job
		size := 0
		for j, err := range jobs {
			if err != nil {
				if len(part) == 0 || yield(part, nil) {
					yield(nil, err)
				}
				return
			}
			if part == nil {
				part = make([]*Job, 0, bulkJobs)
			}
			part, size = append(part, j), size+len(j.Args)
			if len(part) >= bulkJobs || size >= bulkBytes {
				if !yield(part, nil) {
					return
				}
				part, size = nil, 0
			}
		}
		if len(part) > 0 {
			yield(part, nil)
		}
	}
}

// inTurn is meanwhile.Map without concurrency, for something that only one goroutine may use at a time, such as a transaction, which the stream may
// use as well.
func inTurn[In, Out any](ctx context.Context, in meanwhile.Stream[In], fn func(context.Context, In) (Out, error)) meanwhile.Stream[Out] {
	return func(yield func(Out, error) bool) {
		for v, err := range in {
			var out Out
			if err == nil {
				out, err = fn(ctx, v)
			}
			if !yield(out, err) {
				return
			}
		}
	}
}
