package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meanwhile-go/meanwhile"
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
	if _, err := s.Wait(t.Context(), job.DefaultQueue); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("Wait = %v, want %v", err, job.ErrNoSchema)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping after Migrate = %v", err)
	}
}

// TestMigrateDownAndUp: a store in use detects that its tables are gone, and later that they are back.
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
	execSQL(t, connect(t, url), "update meanwhile.version set version = 1000, readable_from = 1000")
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

// TestBadURL: no error for a URL that cannot be opened shows the password, nor does a value inside the error.
func TestBadURL(t *testing.T) {
	const password = "geheim123"
	for url, want := range map[string]string{
		"postgres://somebody:" + password + "@127.0.0.1:port/none":             "not a port number",
		"postgres://somebody:" + password + "@127.0.0.1/none?schema=":          "the name of the schema has 0 bytes",
		"postgres://somebody:" + password + "@127.0.0.1/none?schema=pg_own":    "those that begin with pg_",
		"postgres://somebody:" + password + "@127.0.0.1/none?schema=a'b":       `the name of the schema is "a'b": give one without ' and $$`,
		"postgres://somebody:" + password + "@127.0.0.1/none?schema=a$$b":      `the name of the schema is "a$$b": give one without ' and $$`,
		"postgres://somebody:" + password + "@127.0.0.1/none?sslmode=what":     "sslmode",
		"postgres://somebody:" + password + "@127.0.0.1/none?pool_max_conns=x": "pool_max_conns",
		"postgres://somebody:" + password + "%@127.0.0.1/none":                 "percent-encode",
		"postgres://somebody:" + password + "%zz@127.0.0.1/none":               "% is %25",
		"postgres://somebody:" + password + "#x@127.0.0.1/none":                "# is %23",
		"postgres://somebody:" + password + "/x@127.0.0.1/none":                "/ is %2F",
		"postgres://somebody:1/" + password + "@127.0.0.1/none":                "/ is %2F",
		"postgres://somebody:" + password + "?x@127.0.0.1/none":                "? is %3F",
		"postgres://somebody:x@" + password + "@127.0.0.1/none":                "@ is %40",
		"postgres://somebody%3A" + password + "%40127.0.0.1/none":              "the host has an @ in it",
		"postgres://somebody@127.0.0.1/none?password=x&" + password:            "KEY=VALUE",
		"host=127.0.0.1 password=x " + password:                                "KEYWORD=VALUE",
		"host=127.0.0.1 password='" + password:                                 "KEYWORD=VALUE",
		"host=127.0.0.1 sslmode=what password=" + password:                     "sslmode",
		"host=somebody:" + password + "@127.0.0.1":                             "the host has an @ in it",
		"dbname=postgres://somebody:" + password + "@127.0.0.1/none":           "give the name of the database",
		"postgres:somebody:" + password + "@127.0.0.1/none":                    "not of the form",
	} {
		for name, open := range map[string]func() error{
			"postgres.Open": func() error { _, err := postgres.Open(t.Context(), url); return err },
			"job.Open":      func() error { _, err := job.Open(t.Context(), url); return err },
		} {
			err := open()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s(%q) = %v, want %s", name, url, err, want)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, password) {
					t.Errorf("%s shows the password: %s", name, text)
				}
				if parse, ok := err.(*pgconn.ParseConfigError); ok && strings.Contains(parse.ConnString, password) {
					t.Errorf("%s returns an error that has the password in a field: %q", name, parse.ConnString)
				}
			}
		}
	}
}

// TestURLReachesServer: settings reach the server as they are written, in a URL and in a keyword string.
func TestURLReachesServer(t *testing.T) {
	url := database(t, server())
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	keywords := fmt.Sprintf("host=%s port=%d user=%s dbname=%s password='s3 \\'cret' schema=own", config.Host, config.Port, config.User, config.Database)
	for _, text := range []string{
		url + "?options=-c%20statement_timeout%3D7777&schema=own",
		url + "?options=-c%20statement_timeout=7777&schema=own",
		keywords + " options='-c statement_timeout=7777'",
	} {
		s := bare(t, text)
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var timeout string
		var table bool
		row := s.Pool().QueryRow(t.Context(), "select current_setting('statement_timeout'), to_regclass('own.queued') is not null")
		if err := row.Scan(&timeout, &table); err != nil || timeout != "7777ms" || !table {
			t.Errorf("%s: the timeout is %q, there is a table: %t, %v", text, timeout, table, err)
		}
	}
}

// TestDeadline: a call returns the error of its ctx at the deadline when the server does not answer.
func TestDeadline(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // ends the transaction, also after the test's ctx
	if _, err := tx.Exec(t.Context(), "lock table meanwhile.queued"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "q", Limit: 1}}, Limit: 1, Lease: time.Minute}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Claim = %v, want %v", err, context.DeadlineExceeded)
	}
}

// TestNewerSchemaThatIsReadable: a program continues to work with the tables of a newer version that allow it, so that both
// versions can run side by side, and a rollback to the older one is possible.
func TestNewerSchemaThatIsReadable(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	var known int
	if err := pool.QueryRow(t.Context(), "select version from meanwhile.version").Scan(&known); err != nil {
		t.Fatal(err)
	}
	insertSome(t, s)
	execSQL(t, pool, "update meanwhile.version set version = 1000, readable_from = $1", known)
	older := bare(t, url)
	for what, err := range map[string]error{"Migrate": older.Migrate(t.Context()), "Ping": older.Ping(t.Context())} {
		if err != nil {
			t.Errorf("%s = %v", what, err)
		}
	}
	insertSome(t, older)
	if jobs := claim(t, older, 1); len(jobs) != 1 {
		t.Error("nothing could be claimed")
	}
	var version int
	if err := pool.QueryRow(t.Context(), "select version from meanwhile.version").Scan(&version); err != nil || version != 1000 {
		t.Errorf("the version is %d, %v; want it left at 1000", version, err)
	}

	execSQL(t, pool, "update meanwhile.version set readable_from = $1", known+1)
	older = bare(t, url)
	for what, err := range map[string]error{"Migrate": older.Migrate(t.Context()), "Ping": older.Ping(t.Context())} {
		want := fmt.Sprintf("it has version 1000, which programs that know version %d can use, and this one knows up to %d: update it", known+1, known)
		if !errors.Is(err, job.ErrSchema) || what == "Ping" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want %q", what, err, want)
		}
	}
}

// TestUpgradeAndRollback: a newer program migrates tables that have jobs in each state, while an older one goes on with them, and then goes back.
func TestUpgradeAndRollback(t *testing.T) {
	url := database(t, server())
	older, newer := open(t, url), bare(t, url)
	version := newer.AddMigration("alter table meanwhile.queued add column added text", "alter table meanwhile.queued drop column added", older.Version())
	var jobs []*job.Job
	for range 4 {
		jobs = append(jobs, newJob(t))
	}
	if _, err := older.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
	complete := func(s *postgres.Store, jobs ...*job.Job) {
		t.Helper()
		for _, j := range jobs {
			j.State = job.Completed
		}
		if lost, err := s.Settle(t.Context(), 1, job.Outcomes(jobs...)...); err != nil || len(lost) > 0 {
			t.Fatalf("settle: %d lost, %v", len(lost), err)
		}
	}
	complete(older, claim(t, older, 1)...)
	running := claim(t, older, 1)

	want := fmt.Sprintf("it has version %d, and %d is needed: migrate it (meanwhile jobs migrate)", older.Version(), version)
	if err := newer.Ping(t.Context()); !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), want) {
		t.Errorf("Ping before the migration = %v, want %q", err, want)
	}
	if err := newer.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	complete(newer, running...)
	complete(older, claim(t, newer, 1)...)
	if err := bare(t, url).Ping(t.Context()); err != nil {
		t.Errorf("Ping of an older program after the migration = %v", err)
	}

	if err := newer.MigrateTo(t.Context(), older.Version()); err != nil {
		t.Fatal(err)
	}
	if err := newer.Ping(t.Context()); !errors.Is(err, job.ErrSchema) {
		t.Errorf("Ping after the rollback = %v, want %v", err, job.ErrSchema)
	}
	complete(older, claim(t, older, 1)...)
	found, err := older.List(t.Context(), job.Filter{States: []job.State{job.Completed}, Limit: 10})
	if err != nil || len(found) != 4 {
		t.Errorf("%d jobs have completed, %v, want 4", len(found), err)
	}
}

// TestMigrateBesideAWriter has a program of the version before lock one table, and wait for another that the migration has locked: the server aborts
// the migration, which has the shorter deadlock timeout, and the migration has to start again.
func TestMigrateBesideAWriter(t *testing.T) {
	ctx, url := t.Context(), database(t, server())
	open(t, url)
	newer, pool := bare(t, url+"?deadlock_timeout=3s"), connect(t, url)
	newer.AddMigration("lock table meanwhile.unique_keys; lock table meanwhile.queued", "select 1", 0)
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // committed by then
	if _, err := tx.Exec(ctx, "set local deadlock_timeout = '1min'; lock table meanwhile.queued in row exclusive mode"); err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, newer.Migrate)
		waits := "select count(*) from pg_locks where not granted and relation = 'meanwhile.queued'::regclass"
		for n := 0; n == 0; {
			if err := pool.QueryRow(ctx, waits).Scan(&n); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "lock table meanwhile.unique_keys in row exclusive mode"); err != nil {
			return fmt.Errorf("the program of the version before: %w", err)
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := newer.Ping(ctx); err != nil {
		t.Error(err)
	}
}

// TestSchemaOfADevelopmentVersion: tables from before the first release cannot be migrated.
func TestSchemaOfADevelopmentVersion(t *testing.T) {
	url := database(t, server())
	open(t, url)
	execSQL(t, connect(t, url), "update meanwhile.version set version = 3, readable_from = 3")
	s := bare(t, url)
	const want = "it has version 3, from before the first release"
	for what, err := range map[string]error{"Ping": s.Ping(t.Context()), "Migrate": s.Migrate(t.Context()), "MigrateTo(0)": s.MigrateTo(t.Context(), 0)} {
		if !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want %q", what, err, want)
		}
	}
}
