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

// TestLateListKeepsItsConnection has a list wait for a lock until its deadline: the server stops the statement, and the connection stays
// usable.
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
		// On a slow machine the call may end before the server's answer arrives; with a longer timeout this is less likely.
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

// TestListWithLittleTime: a list that the server stops returns the error of its ctx, even if rounding to whole milliseconds has cut most of its
// time.
func TestListWithLittleTime(t *testing.T) {
	url := database(t, server())
	_, store := onePool(t, url, "")
	f := job.Filter{Limit: 10}
	for _, timeout := range []time.Duration{300, 500, 700, 900, 2200, 3300, 4400, 5500, 6600, 7700} {
		for range 5 { // the first may have to connect, and time out before it has sent the statement
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

// TestListKeepsAShorterTimeout: a shorter statement_timeout that the user has set applies.
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

// TestNewestOfManyClasses: a list that searches finished jobs in many ranges of an index returns the newest jobs, whether they are spread over all
// ranges or are in one.
func TestNewestOfManyClasses(t *testing.T) {
	const queues, limit = 50, 100 // so many that the list first finds the ID that the newest jobs are above
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

// onePool returns a pool of one connection with this statement timeout, and a store that uses it.
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
	open(t, url) // creates the tables
	store, err := postgres.New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	return pool, store
}

// lockJobs locks the tables of queued and finished jobs until unlock is called.
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
