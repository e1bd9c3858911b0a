package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestRestart stops the server under a store and starts it again: calls fail in between, and nothing that was acknowledged is
// lost.
func TestRestart(t *testing.T) {
	server := newServer(t)
	s := open(t, server.url())
	acknowledged := insertSome(t, s)
	held := claim(t, s, 2)

	server.stop()
	j := newJob(t)
	_, err := s.Insert(t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), "insert jobs: ") {
		t.Errorf("Insert without a server = %v", err)
	}
	eventually(t, "the error names the server", func() error {
		if _, err = s.Insert(t.Context(), j); err != nil && strings.Contains(err.Error(), "connect to PostgreSQL at 127.0.0.1:") {
			return nil
		}
		return err
	})
	server.start()
	eventually(t, "Ping after the restart", func() error { return s.Ping(t.Context()) })
	for _, j := range held {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(held...)...); err != nil || len(lost) > 0 {
		t.Errorf("Settle after the restart: lost %v, %v", lost, err)
	}
	wantAll(t, s, acknowledged, len(held))
}

// TestWaitOverRestart: a call of Wait that spans a restart of the server returns for jobs that are inserted after it.
func TestWaitOverRestart(t *testing.T) {
	server := newServer(t)
	s := open(t, server.url())
	if _, err := s.Wait(t.Context(), job.DefaultQueue); err != nil {
		t.Fatal(err)
	}
	server.stop()
	server.start()
	eventually(t, "Wait", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Wait(ctx, job.DefaultQueue)
		return err
	})
	notified := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		_, err := s.Wait(ctx, job.DefaultQueue)
		notified <- err
	}()
	insertSome(t, s)
	if err := <-notified; err != nil {
		t.Errorf("Wait after the restart = %v", err)
	}
}

// TestFailover makes the server read-only by a setting, which the error names, and then writable again, over connections that stay open.
func TestFailover(t *testing.T) {
	server := newServer(t)
	s := open(t, server.url())
	pool := connect(t, server.url())
	acknowledged := insertSome(t, s)

	execSQL(t, pool, "alter system set default_transaction_read_only = on")
	execSQL(t, pool, "select pg_reload_conf()")
	eventually(t, "Insert says that the server takes no writes", func() error {
		j := newJob(t)
		_, err := s.Insert(t.Context(), j)
		if err == nil {
			acknowledged = append(acknowledged, j.ID)
			return context.DeadlineExceeded
		}
		if !strings.Contains(err.Error(), "takes no writes: default_transaction_read_only is on") {
			t.Fatalf("Insert = %v", err)
		}
		return nil
	})
	execSQL(t, pool, "alter system reset default_transaction_read_only")
	execSQL(t, pool, "select pg_reload_conf()")
	eventually(t, "Insert after the failover", func() error {
		j := newJob(t)
		_, err := s.Insert(t.Context(), j)
		if err == nil {
			acknowledged = append(acknowledged, j.ID)
		}
		return err
	})
	wantAll(t, s, acknowledged, 0)
}

// TestPromotion: a standby takes over the address of its server, first as a standby, then promoted.
func TestPromotion(t *testing.T) {
	first := newServer(t)
	s := open(t, first.url())
	standby := first.newStandby()
	pool := connect(t, first.url())
	execSQL(t, pool, "alter system set synchronous_standby_names = '*'")
	execSQL(t, pool, "select pg_reload_conf()")
	eventually(t, "the standby follows", func() error {
		var n int
		if err := pool.QueryRow(t.Context(), "select count(*) from pg_stat_replication where sync_state = 'sync'").Scan(&n); err != nil {
			return err
		}
		if n != 1 {
			return context.DeadlineExceeded
		}
		return nil
	})
	acknowledged := insertSome(t, s)
	first.stop()
	standby.stop()
	standby.port = first.port // as if a DNS name now led to it
	standby.start()

	eventually(t, "Insert says that the server takes no writes", func() error {
		j := newJob(t)
		_, err := s.Insert(t.Context(), j)
		if err == nil || !strings.Contains(err.Error(), "takes no writes, as a standby does") {
			return fmt.Errorf("Insert at a standby = %w", err)
		}
		return nil
	})
	wantAll(t, s, acknowledged, 0)
	if err := standby.ctl("promote").Run(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, connect(t, standby.url()), "alter system reset synchronous_standby_names")
	execSQL(t, connect(t, standby.url()), "select pg_reload_conf()")
	eventually(t, "Insert after the promotion", func() error {
		j := newJob(t)
		_, err := s.Insert(t.Context(), j)
		if err == nil {
			acknowledged = append(acknowledged, j.ID)
		}
		return err
	})
	wantAll(t, s, acknowledged, 0)
}

func insertSome(t *testing.T, s job.Store) []job.ID {
	t.Helper()
	var acknowledged []job.ID
	for range 5 {
		ids, err := s.Insert(t.Context(), newJob(t))
		if err != nil {
			t.Fatal(err)
		}
		acknowledged = append(acknowledged, ids...)
	}
	return acknowledged
}

// wantAll checks that the store has the jobs, and how many of them are completed.
func wantAll(t *testing.T, s job.Store, ids []job.ID, completed int) {
	t.Helper()
	jobs, err := s.List(t.Context(), job.Filter{IDs: ids, Limit: len(ids) + 1})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, j := range jobs {
		if j.State == job.Completed {
			n++
		}
	}
	if len(jobs) != len(ids) || n != completed {
		t.Errorf("there are %d jobs, %d of them completed, want %d and %d", len(jobs), n, len(ids), completed)
	}
}
