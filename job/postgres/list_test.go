package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestLateListKeepsItsConnection has a list wait for a lock until its deadline: the server stops it, and the connection goes on to serve.
func TestLateListKeepsItsConnection(t *testing.T) {
	ctx, url := t.Context(), database(t, server())
	pool, store := onePool(t, url, "")
	backend := func() (pid int) {
		t.Helper()
		if err := pool.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	for _, f := range []job.Filter{{Limit: 10}, {Kinds: []string{"k"}, Limit: 10}, {Meta: map[string]string{job.MetaID: "x"}, Limit: 10}} {
		// On a machine that is slow the call may end before the answer of the server is there: the longer it may take, the less so.
		for timeout := 200 * time.Millisecond; ; timeout *= 2 {
			prepareList(t, store, f)
			before, unlock := backend(), lockJobs(t, url)
			late, cancel := context.WithTimeout(ctx, timeout)
			if _, err := store.List(late, f); !errors.Is(err, context.DeadlineExceeded) || late.Err() == nil {
				t.Errorf("list of %+v: %v, want the error of its ctx, after this has ended", f, err)
			}
			cancel()
			unlock()
			after := backend()
			if after == before {
				break
			}
			if timeout > 3*time.Second {
				t.Errorf("list of %+v: the connection is to process %d after %v, was to %d", f, after, timeout, before)
				break
			}
		}
	}
}

// TestListWithLittleTime: a list that the server stops has the error of its ctx, however little of a whole millisecond the time for it was cut to.
func TestListWithLittleTime(t *testing.T) {
	url := database(t, server())
	_, store := onePool(t, url, "")
	f := job.Filter{Limit: 10}
	for _, timeout := range []time.Duration{300, 500, 700, 900, 2200, 3300, 4400, 5500, 6600, 7700} {
		for range 5 { // of which the first may have to connect, and ends before it has asked
			prepareList(t, store, f)
			unlock := lockJobs(t, url)
			late, cancel := context.WithTimeout(t.Context(), timeout*time.Microsecond)
			if _, err := store.List(late, f); !errors.Is(err, context.DeadlineExceeded) || late.Err() == nil {
				t.Errorf("list with %v: %v, want the error of its ctx, after this has ended", timeout*time.Microsecond, err)
			}
			cancel()
			unlock()
		}
	}
}

// TestListKeepsAShorterTimeout is of a statement timeout that the user has set.
func TestListKeepsAShorterTimeout(t *testing.T) {
	url := database(t, server())
	_, store := onePool(t, url, "2s")
	prepareList(t, store, job.Filter{Limit: 10})
	defer lockJobs(t, url)()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := store.List(ctx, job.Filter{Limit: 10})
	if err == nil || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("%v, want that of the server", err)
	}
}

// TestNewestOfManyClasses: where finished jobs are looked for in many ranges of an index, the list is of the newest, whether they are spread over all of
// the ranges or are of one.
func TestNewestOfManyClasses(t *testing.T) {
	const queues, limit = 50, 100 // so that the list finds out first from which ID on they are
	s := open(t, database(t, server()))
	var ids []job.ID
	finish := func(n int, queue func(i int) string) {
		t.Helper()
		jobs := make([]*job.Job, n)
		for i := range jobs {
			jobs[i] = newJob(t, job.Queue(queue(i)))
			ids = append(ids, jobs[i].ID)
		}
		if _, err := s.Insert(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Apply(t.Context(), job.Filter{States: []job.State{job.Queued}, Limit: n}, job.ActionCancel); err != nil || done.Changed != n {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	check := func(of string) {
		t.Helper()
		jobs, err := s.List(t.Context(), job.Filter{States: []job.State{job.Canceled}, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(ids)
		slices.SortFunc(want, func(a, b job.ID) int { return bytes.Compare(b[:], a[:]) })
		want = want[:min(len(want), limit)]
		if !slices.EqualFunc(jobs, want, func(j *job.Job, id job.ID) bool { return j.ID == id }) {
			t.Errorf("%s: a list of %d jobs, which are not the newest %d", of, len(jobs), len(want))
		}
	}
	each := func(i int) string { return fmt.Sprint("q", i%queues) }
	finish(queues, each)
	check("fewer than the limit")
	finish(9*queues, each)
	check("spread over all")
	finish(2*limit, func(int) string { return "q7" })
	check("of one")
	finish(queues, each)
	check("of both")
}

// prepareList has the server prepare a statement, which otherwise waits for the lock of a table before there is a deadline.
func prepareList(t *testing.T, store *postgres.Store, f job.Filter) {
	t.Helper()
	if _, err := store.List(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// onePool is a store with one connection, whose statements may take as long as timeout says.
func onePool(t *testing.T, url, timeout string) (*pgxpool.Pool, *postgres.Store) {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	if timeout != "" {
		config.ConnConfig.RuntimeParams["statement_timeout"] = timeout
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	open(t, url) // makes the tables
	store, err := postgres.New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	return pool, store
}

// lockJobs keeps everybody from the queued and the finished jobs until what it returns is called.
func lockJobs(t *testing.T, url string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_, err = conn.Exec(t.Context(), "begin; lock table meanwhile.finished, meanwhile.queued in access exclusive mode")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close(context.Background()) }
}
