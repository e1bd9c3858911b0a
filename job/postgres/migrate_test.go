package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

func bare(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // returns nil
	return s
}

func TestNoSchema(t *testing.T) {
	s := bare(t, database(t, server()))
	if err := s.Ping(t.Context()); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("Ping = %v, want %v", err, job.ErrNoSchema)
	}
	if _, err := s.Insert(t.Context(), newJob(t)); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("Insert = %v, want %v", err, job.ErrNoSchema)
	}
	if err := s.Wait(t.Context(), job.DefaultQueue); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("Wait = %v, want %v", err, job.ErrNoSchema)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping after Migrate = %v", err)
	}
}

// TestMigrateDownAndUp has a store in use find out that its tables are gone, and then that they are back.
func TestMigrateDownAndUp(t *testing.T) {
	url := database(t, server())
	s, other := open(t, url), bare(t, url)
	insertSome(t, s)
	if err := other.MigrateTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(t.Context(), newJob(t)); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("Insert = %v, want %v", err, job.ErrNoSchema)
	}
	if err := other.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counts, err := s.Counts(t.Context()); err != nil || len(counts) > 0 {
		t.Errorf("Counts = %v, %v, want none", counts, err)
	}
	insertSome(t, s)
}

func TestNewerSchema(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	execSQL(t, connect(t, url), "update meanwhile.version set version = 1000")
	if err := s.Ping(t.Context()); !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), "1000") {
		t.Errorf("Ping = %v, want %v", err, job.ErrSchema)
	}
	if err := s.Migrate(t.Context()); !errors.Is(err, job.ErrSchema) {
		t.Errorf("Migrate = %v, want %v", err, job.ErrSchema)
	}
	if err := s.MigrateTo(t.Context(), 0); !errors.Is(err, job.ErrSchema) {
		t.Errorf("MigrateTo(0) = %v, want %v", err, job.ErrSchema)
	}
}

func TestMigrateAtOnce(t *testing.T) {
	url := database(t, server()) + "?schema=Strange%20%22name%22&pool_max_conns=2"
	var wg sync.WaitGroup
	for range 8 {
		s := bare(t, url)
		wg.Go(func() {
			if err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(claim(t, bare(t, url), 100)); n != 8 {
		t.Errorf("claimed %d jobs, want 8", n)
	}
}

func TestServerNotThere(t *testing.T) {
	const password = "geheim123"
	s := bare(t, "postgres://somebody:"+password+"@127.0.0.1:1/none")
	err := s.Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), "connect to PostgreSQL at 127.0.0.1:1: ") || strings.Contains(err.Error(), password) {
		t.Errorf("Ping = %v", err)
	}
}

func TestBadURL(t *testing.T) {
	const password = "geheim123"
	for _, url := range []string{
		"postgres://somebody:" + password + "@127.0.0.1:port/none",
		"postgres://somebody:" + password + "@127.0.0.1/none?schema=",
		"postgres://somebody:" + password + "@127.0.0.1/none?schema=pg_own",
		"postgres://somebody:" + password + "@127.0.0.1/none?sslmode=what",
		"postgres://somebody:" + password + "%@127.0.0.1/none",
	} {
		s, err := postgres.Open(t.Context(), url)
		if err == nil {
			t.Errorf("Open(%q) = %v, want an error", url, s)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("Open shows the password: %v", err)
		}
	}
}

// TestDeadline: a call that is given no deadline ends with the one of its ctx, when the server does not answer.
func TestDeadline(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // the test is over
	if _, err := tx.Exec(t.Context(), "lock table meanwhile.queued"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Claim(ctx, job.Claim{Worker: "w", Queues: []job.QueueLimit{{Queue: "q", Limit: 1}}, Limit: 1, Lease: time.Minute}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Claim = %v, want %v", err, context.DeadlineExceeded)
	}
}
