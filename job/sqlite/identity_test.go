package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestFileGone: writes to a file that is deleted, moved or replaced are refused, and accepted again when the file is back.
func TestFileGone(t *testing.T) {
	remove := func(path string) error { return os.Remove(path) }
	move := func(path string) error { return os.Rename(path, path+".old") }
	replace := func(path string) error {
		return errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
	}
	for name, c := range map[string]struct {
		harm func(path string) error
		want string
	}{
		"deleted":  {remove, "was deleted or moved while it was open"},
		"moved":    {move, "was deleted or moved while it was open"},
		"replaced": {replace, "was replaced by another file while it was open"},
	} {
		t.Run(name, func(t *testing.T) {
			path := migrated(t)
			s := open(t, path)
			insert(t, s, []*job.Job{newJob(t)})
			tx, err := s.DB().BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			if err := c.harm(path); err != nil {
				t.Fatal(err)
			}
			check := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v, want an error that says that %s %s", what, err, path, c.want)
				}
			}
			_, err = s.Tx(tx).Insert(t.Context(), newJob(t))
			check("insert in a transaction", err)
			if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
				t.Fatal(err)
			}
			_, err = s.Insert(t.Context(), newJob(t))
			check("insert", err)
			_, err = s.Claim(t.Context(), job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: 1}}, Limit: 1, Lease: time.Minute})
			check("claim", err)
			_, err = s.Counts(t.Context())
			check("counts", err)
			check("ping", s.Ping(t.Context()))
			if name == "moved" {
				if err := os.Rename(path+".old", path); err != nil {
					t.Fatal(err)
				}
				insert(t, s, []*job.Job{newJob(t)})
			}
		})
	}
}

// TestFileGoneByFolder: a program that changes its working directory does not lose the file of a relative path.
func TestFileGoneByFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "jobs.db")
	t.Chdir(t.TempDir())
	insert(t, s, []*job.Job{newJob(t)})
}

// TestFileGoneUnderAWorker: the health of a worker reports that the file is gone.
func TestFileGoneUnderAWorker(t *testing.T) {
	path := migrated(t)
	s := open(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	started, failed := make(chan struct{}, 1), make(chan struct{}, 1)
	notify := func(ch chan struct{}) {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	w := job.NewWorker(s, job.Config{Poll: 10 * time.Millisecond, Observe: func(e job.Event) {
		switch e.Kind {
		case job.JobCompleted:
			notify(started)
		case job.StoreFailed:
			notify(failed)
		}
	}}, job.HandleRaw("k", func(context.Context, *job.Job) error { return nil }))
	insert(t, s, []*job.Job{newJob(t)})
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		worker := meanwhile.Go(ctx, w.Run)
		for i, ch := range []chan struct{}{started, failed} {
			select {
			case <-ch:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if i == 0 {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
		if trouble := w.Health().Trouble; !strings.Contains(trouble, "was deleted or moved while it was open") {
			t.Errorf("the health of the worker is %q", trouble)
		}
		worker.Cancel(nil)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
