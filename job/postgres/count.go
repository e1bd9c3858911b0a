package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// compactAfter is how many rows a process appends to the counts before it merges them, and compactTime the longest time for that: the call that
// does it has written what it was called for, and its caller waits.
const (
	compactAfter = 2000
	compactTime  = time.Second
)

// wrote records that n rows were appended to the counts, and merges the rows if there are many.
func (s *Store) wrote(ctx context.Context, n int) {
	if n == 0 || s.deltas.Add(1) < compactAfter {
		return
	}
	s.deltas.Store(0)
	ctx, cancel := context.WithTimeout(ctx, compactTime)
	defer cancel()
	_ = s.compact(ctx) // after an error, Prune merges them, or this after as many rows again
}

// compact merges the rows of the counts, unless another process is doing so.
func (s *Store) compact(ctx context.Context) error {
	_, err := s.run().ids(ctx, s.sql("compact"), "meanwhile counts of "+s.schema)
	return err
}

// Counts returns how many jobs there are by queue, kind and state.
func (s *Store) Counts(ctx context.Context) (counts []job.Count, err error) {
	err = s.call(ctx, "count jobs", func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("counts"))
		if err != nil {
			return err
		}
		counts = nil
		var c job.Count
		_, err = pgx.ForEachRow(rows, []any{&c.Queue, &c.Kind, (*string)(&c.State), &c.N}, func() error {
			counts = append(counts, c)
			return nil
		})
		return err
	})
	return counts, err
}
