package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A watch is a request for the trees of a job, with the tree that was reported last.
type watch struct {
	until time.Time
	tree  job.Tree
}

// Watch returns the last tree of a running job, and makes its worker report more.
func (s *Store) Watch(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
	what := fmt.Sprintf("watch job %v", id)
	now, err := s.enter(ctx, what)
	if err != nil {
		return job.Tree{}, err
	}
	defer s.mu.Unlock()
	e := s.jobs[id]
	switch {
	case e == nil:
		return job.Tree{}, fmt.Errorf("%s: %w", what, job.ErrNotFound)
	case e.State.Finished():
		return job.Tree{}, nil
	}
	w := s.watches[id]
	if w == nil || !now.Before(w.until) {
		w = &watch{}
		s.watches[id] = w
	}
	if until := now.Add(min(d, job.LongestWatch)); until.After(w.until) {
		w.until = until
	}
	if e.State != job.Running || w.tree.Attempt != e.Attempt {
		return job.Tree{}, nil
	}
	return copyTree(w.tree), nil
}

// keepTrees stores the trees of watched jobs that the session holds.
func (s *Store) keepTrees(session job.Session, trees []job.Tree, now time.Time) {
	for _, t := range trees {
		e, w := s.jobs[t.Job], s.watches[t.Job]
		if w == nil || !now.Before(w.until) || e == nil || e.State != job.Running || e.session != session || e.Attempt != t.Attempt {
			continue
		}
		w.tree = copyTree(t)
		w.tree.At = now
	}
}

// watched returns the watched jobs that the session holds.
func (s *Store) watched(session job.Session, now time.Time) []job.ID {
	var ids []job.ID
	for id, w := range s.watches {
		if !now.Before(w.until) {
			delete(s.watches, id)
			continue
		}
		if e := s.jobs[id]; e != nil && e.State == job.Running && e.session == session {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	return ids[:min(len(ids), job.MostWatched)]
}

func copyTree(t job.Tree) job.Tree {
	t.JSON = append([]byte(nil), t.JSON...)
	return t
}
