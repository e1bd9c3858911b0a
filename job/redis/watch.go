package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Watch returns the last tree of a running job, and makes its worker report more.
func (s *Store) Watch(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
	var tree job.Tree
	err := s.call(ctx, fmt.Sprintf("watch job %v", id), func(ctx context.Context) error {
		m, err := s.runOne(ctx, watchScript, idText(id), span(min(d, job.LongestWatch)))
		switch {
		case err != nil:
			return err
		case m.IsInt64() && number(m) == 0:
			return job.ErrNotFound
		case m.IsInt64():
			return nil
		}
		attempt, rest, _ := strings.Cut(text(m), "\n")
		at, json, _ := strings.Cut(rest, "\n")
		tree = job.Tree{Job: id, At: timeOf(at), JSON: []byte(json)}
		tree.Attempt, err = strconv.Atoi(attempt)
		return err
	})
	return tree, err
}
