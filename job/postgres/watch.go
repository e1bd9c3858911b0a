package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// Watch returns the last tree of a running job, and makes its worker report more.
func (s *Store) Watch(ctx context.Context, id job.ID, d time.Duration) (tree job.Tree, err error) {
	err = s.call(ctx, fmt.Sprintf("watch job %v", id), func(ctx context.Context) error {
		rows, err := s.run().query(ctx, s.sql("watch"), [16]byte(id), interval(min(d, job.LongestWatch)))
		if err != nil {
			return err
		}
		tree = job.Tree{}
		found := false
		var runs, reported pgtype.Int4
		var at pgtype.Timestamptz
		var text pgtype.Text
		_, err = pgx.ForEachRow(rows, []any{&runs, &reported, &at, &text}, func() error {
			found = true
			if text.Valid && runs.Valid && runs == reported {
				tree = job.Tree{Job: id, Attempt: int(reported.Int32), At: timeOf(at), JSON: []byte(text.String)}
			}
			return nil
		})
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	return tree, err
}

// treeArgs returns trees by column.
func treeArgs(trees []job.Tree) []any {
	ids, attempts, texts := make([][16]byte, len(trees)), make([]int32, len(trees)), make([]string, len(trees))
	for i, t := range trees {
		ids[i], attempts[i], texts[i] = t.Job, int32(t.Attempt), string(t.JSON)
	}
	return []any{ids, attempts, texts}
}
