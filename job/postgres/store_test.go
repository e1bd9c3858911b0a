package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// server returns the URL of the PostgreSQL server that the tests use.
func server() string { return testenv.PostgresURL() }

// database creates a database on a server for the duration of a test, and returns its URL.
func database(t testing.TB, server string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		testenv.PostgreSQL.Missing(t, err)
	}
	defer conn.Close(ctx)
	name := "meanwhile_test_" + strings.ToLower(rand.Text()[:12])
	for _, statement := range []string{
		"create database " + name,
		"alter database " + name + " set synchronous_commit = off", // no test crashes this server
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			t.Errorf("drop database %s: %v", name, err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "drop database "+name+" with (force)"); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	return fmt.Sprintf("postgres://%s@%s/%s", config.User, net.JoinHostPort(config.Host, fmt.Sprint(config.Port)), name)
}

// open opens the store of a URL, with its tables, for the duration of a test.
func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect makes a pool for the duration of a test, to read and write the tables directly.
func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func execSQL(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// newJob makes a job that is due at once.
func newJob(t testing.TB, opts ...job.EnqueueOption) *job.Job {
	t.Helper()
	j, err := job.New("test", []byte(`{"n":1}`), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// claim claims up to n jobs of the default queue.
func claim(t testing.TB, s job.Store, n int) []*job.Job {
	t.Helper()
	done, err := s.Claim(t.Context(), job.Claim{
		Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, Limit: n, Lease: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return done.Jobs
}

func TestStore(t *testing.T) {
	t.Parallel()
	jobtest.TestStore(t, sharing(t, database(t, server())))
}

// emptyTables deletes all rows except the schema's version. It truncates only large tables: truncation creates new files for the table and
// its indexes, and doing that for all tables takes longer than most tests of the contract.
const emptyTables = `do $$
	declare
		t regclass;
	begin
		set local session_replication_role = replica; -- no trigger is to count what is deleted
		for t in select format('meanwhile.%I', tablename) from pg_tables where schemaname = 'meanwhile' and tablename <> 'version' loop
			case
			when pg_relation_size(t) = 0 then
			when pg_relation_size(t) > 1000000 then execute format('truncate %s', t);
			else execute format('delete from %s', t);
			end case;
		end loop;
	end $$`

// emptied creates the tables of a database, which no other store may use at the same time, and returns a function that deletes their rows: creating
// the tables takes longer than most tests of the contract.
func emptied(t *testing.T, url string) func(*testing.T) {
	open(t, url)
	pool := connect(t, url)
	return func(t *testing.T) {
		t.Helper()
		execSQL(t, pool, emptyTables)
	}
}

// keysMissing counts jobs whose limit key in its column, by which jobs are found, differs from the one in their options.
const keysMissing = `select count(*) from (
		select limit_key, options from meanwhile.queued union all select limit_key, options from meanwhile.running
	) j where limit_key is distinct from case when strpos(options, '"limit_key":["') > 0 then options::jsonb #>> '{limit_key,0}' end`

// sharing returns a function that makes a store without jobs on the tables of a database. All these stores use one pool: opening connections, and
// planning what they run, takes longer than most tests of the contract. At the end of each test, the jobs must have their limit keys.
func sharing(t *testing.T, url string) func(*testing.T) job.Store {
	empty, pool := emptied(t, url), connect(t, url)
	return func(t *testing.T) job.Store {
		empty(t)
		s, err := postgres.New(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			var n int
			if err := pool.QueryRow(context.Background(), keysMissing).Scan(&n); err != nil || n > 0 {
				t.Errorf("%d jobs have a limit key that differs from their options: %v", n, err)
			}
		})
		return s
	}
}
