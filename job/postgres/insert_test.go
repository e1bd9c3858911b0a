package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestInsertGivesNotice: the insert of a single job is one statement, which also notifies workers, once.
func TestInsertGivesNotice(t *testing.T) {
	s, tr := openTraced(t)
	conn, err := pgx.ConnectConfig(t.Context(), s.Pool().Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "listen meanwhile"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // waits until all notifications have been sent
		t.Fatal(err)
	}
	notice, err := conn.WaitForNotification(t.Context())
	if err != nil || notice.Payload != job.DefaultQueue {
		t.Fatalf("the notification is %+v, %v", notice, err)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	writes := slices.DeleteFunc(slices.Clone(tr.ran), func(sql string) bool {
		return !strings.Contains(sql, "insert_alike") && !strings.Contains(sql, "pg_notify")
	})
	if len(writes) != 1 {
		t.Errorf("the insert ran these statements: %q", tr.ran)
	}
}

// TestDebounceWhileItsHolderIsClaimed: a job that should replace one that is just being claimed is stored as another job, so that
// its args are run.
func TestDebounceWhileItsHolderIsClaimed(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	debounced := func() *job.Job { return newJob(t, job.Debounce("key", time.Millisecond, time.Millisecond)) }
	first, second := debounced(), debounced()
	if _, err := s.Insert(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	release := holdInsertsInto(t, s, url, pool, "running")
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			for claimed := 0; claimed == 0; { // until the first job is due
				c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute}
				got, err := s.Claim(ctx, c)
				if err != nil {
					return err
				}
				claimed = len(got.Jobs)
			}
			return nil
		})
		if err := untilLocked(ctx, pool, 1); err != nil {
			return err
		}
		meanwhile.Go(ctx, func(ctx context.Context) error {
			ids, err := s.Insert(ctx, second)
			if err == nil && ids[0] != second.ID {
				t.Errorf("the second job is %v, want its own ID %v, since %v runs with other args", ids[0], second.ID, first.ID)
			}
			return err
		})
		if err := untilLocked(ctx, pool, 2); err != nil {
			return err
		}
		return release()
	})
	if err != nil {
		t.Fatal(err)
	}
}
