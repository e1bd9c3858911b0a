package sqlite_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func commit(t *testing.T, tx *sql.Tx) {
	t.Helper()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// list returns the states of all jobs, the newest first.
func list(t *testing.T, s job.Store) string {
	t.Helper()
	jobs, err := s.List(t.Context(), job.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, j := range jobs {
		states = append(states, string(j.State))
	}
	return strings.Join(states, " ")
}

func TestTxInsert(t *testing.T) {
	path := migrated(t)
	s := open(t, path)
	own, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	want := ""
	for _, db := range []*sql.DB{s.DB(), own} {
		tx := begin(t, db)
		if _, err := job.Insert(t.Context(), s.Tx(tx), newJob(t, job.Queue("new"))); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		tx = begin(t, db)
		if _, err := tx.Exec("create table if not exists data (x); insert into data values (1)"); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Insert(t.Context(), s.Tx(tx), newJob(t), newJob(t, job.Queue("other"))); err != nil {
			t.Fatal(err)
		}
		if got := list(t, s); got != want {
			t.Errorf("before the commit there is %q, want %q", got, want)
		}
		commit(t, tx)
		want = strings.TrimSpace(want + " queued queued")
		if got := list(t, s); got != want {
			t.Errorf("after the commit there is %q, want %q", got, want)
		}
	}
	// The class of the rolled back job is not cached as if it existed.
	if _, err := s.Insert(t.Context(), newJob(t, job.Queue("new"))); err != nil {
		t.Fatal(err)
	}
	queues, err := s.Queues(t.Context())
	var names []string
	for _, q := range queues {
		names = append(names, q.Name)
	}
	if want := []string{"default", "new", "other"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("queues %v, %v; want %v", names, err, want)
	}
	checkIntegrity(t, s)
}

func TestTxInsertFails(t *testing.T) {
	s := open(t, migrated(t))
	there := newJob(t)
	insert(t, s, []*job.Job{there})
	tx := begin(t, s.DB())
	in := s.Tx(tx)
	if _, err := in.Insert(t.Context(), newJob(t, job.Unique("a")), there); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("an ID that is taken: %v", err)
	}
	// The failed call has left nothing, and the transaction is still usable.
	j := newJob(t, job.Unique("a"))
	if ids, err := in.Insert(t.Context(), j); err != nil || ids[0] != j.ID {
		t.Errorf("inserted %v, %v; want %v", ids, err, j.ID)
	}
	commit(t, tx)
	if got := list(t, s); got != "queued queued" {
		t.Errorf("there is %q", got)
	}
	checkIntegrity(t, s)
}

func TestTxSettle(t *testing.T) {
	s := open(t, migrated(t))
	insert(t, s, []*job.Job{newJob(t, job.Unique("a"))})
	got, err := s.Claim(t.Context(), benchClaim)
	if err != nil || len(got.Jobs) != 1 {
		t.Fatal(got, err)
	}
	j := got.Jobs[0]
	j.State = job.Completed
	then := newJob(t)
	settle := func(tx *sql.Tx, session job.Session) []job.ID {
		t.Helper()
		lost, err := s.Tx(tx).Settle(t.Context(), session, job.Outcome{Job: j, Then: []*job.Job{then}})
		if err != nil {
			t.Fatal(err)
		}
		return lost
	}
	tx := begin(t, s.DB())
	if lost := settle(tx, 2); len(lost) != 1 {
		t.Error("a worker settled a job that it does not hold")
	}
	if lost := settle(tx, benchClaim.Session); len(lost) != 0 {
		t.Error("the worker does not hold its job")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, s); got != "running" {
		t.Errorf("after a rollback the job is %q", got)
	}
	tx = begin(t, s.DB())
	settle(tx, benchClaim.Session)
	commit(t, tx)
	if got := list(t, s); got != "queued completed" {
		t.Errorf("after the commit the job is %q", got)
	}
	checkIntegrity(t, s)
}

func TestWaitForOthers(t *testing.T) {
	path := migrated(t)
	s, other := open(t, path), open(t, path)
	insertHere := func() {
		tx := begin(t, s.DB())
		if _, err := s.Tx(tx).Insert(t.Context(), newJob(t)); err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
	}
	for name, write := range map[string]func(){
		"a transaction of the caller's": insertHere,
		"another store":                 func() { insert(t, other, []*job.Job{newJob(t)}) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				write()
				// Half of the time after which Wait returns without an event.
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				_, err := s.Wait(ctx, job.DefaultQueue)
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if n, err := drain(t.Context(), s); err != nil || n != 1 {
					t.Errorf("woken to %d jobs, %v; want 1", n, err)
				}
			}
		})
	}
}
