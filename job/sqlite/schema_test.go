package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// tables returns the names of all tables and indexes in the file.
func tables(t *testing.T, s *sqlite.Store) []string {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), "select name from sqlite_schema where name not glob 'sqlite_*' order by name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMigrateDownAndUp(t *testing.T) {
	path := file(t)
	s, other := open(t, path), open(t, path)
	if _, err := s.DB().Exec("create table mine (x); insert into mine values (42)"); err != nil {
		t.Fatal(err)
	}
	before := tables(t, s)
	insert(t, s, newJobs(t, 100, job.Queue("a")))
	insert(t, other, newJobs(t, 100, job.Queue("b")))
	if _, err := drain(t.Context(), s); err != nil {
		t.Fatal(err)
	}

	if err := s.MigrateTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := tables(t, s); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("version 0 leaves %v", got)
	}
	for name, s := range map[string]*sqlite.Store{"the store": s, "another": other} {
		if err := s.Ping(t.Context()); !errors.Is(err, job.ErrNoSchema) {
			t.Errorf("%s: ping: %v, want ErrNoSchema", name, err)
		}
		if _, err := s.Insert(t.Context(), newJob(t)); !errors.Is(err, job.ErrNoSchema) {
			t.Errorf("%s: insert: %v, want ErrNoSchema", name, err)
		}
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tables(t, s); !slices.Equal(got, before) {
		t.Errorf("up again there is %v, want %v", got, before)
	}
	// The other store, which cached the classes from before, creates them again.
	insert(t, other, newJobs(t, 3, job.Queue("b")))
	counts, err := s.Counts(t.Context())
	if want := []job.Count{{Queue: "b", Kind: "bench", State: job.Queued, N: 3}}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("counts %v, %v; want %v", counts, err, want)
	}
	if err := s.MigrateTo(t.Context(), 99); err == nil {
		t.Error("migrated to a version that there is not")
	}
	var mine int
	if err := s.DB().QueryRow("select x from mine").Scan(&mine); err != nil || mine != 42 {
		t.Errorf("mine is %d, %v", mine, err)
	}
}

func TestSchemaChangesBeneath(t *testing.T) {
	s := open(t, file(t))
	if _, err := s.DB().Exec("update meanwhile_schema set version = 99, readable_from = 99; create table newer (x)"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"ping":    s.Ping(t.Context()),
		"leave":   s.Leave(t.Context(), "w", 1),
		"migrate": s.Migrate(t.Context()),
	} {
		if !errors.Is(err, job.ErrSchema) {
			t.Errorf("%s: %v, want ErrSchema", what, err)
		}
	}
}

func TestOpenAtOnce(t *testing.T) {
	path := file(t)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for range 8 {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				s, err := sqlite.Open(ctx, path)
				if err != nil {
					return err
				}
				if _, err := s.Insert(ctx, newJob(t)); err != nil {
					return errors.Join(err, s.Close())
				}
				return s.Close()
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if n, err := drain(t.Context(), s); err != nil || n != 8 {
		t.Errorf("%d jobs, %v; want 8", n, err)
	}
	checkIntegrity(t, s)
}

func checkIntegrity(t *testing.T, s *sqlite.Store) {
	t.Helper()
	var result string
	if err := s.DB().QueryRow("pragma integrity_check").Scan(&result); err != nil || result != "ok" {
		t.Errorf("integrity check: %s, %v", result, err)
	}
	var wrong int
	err := s.DB().QueryRow(`select count(*) from (
		select class, state, count(*) from meanwhile_job group by 1, 2
		except select class, state, n from meanwhile_count)`).Scan(&wrong)
	if err != nil || wrong != 0 {
		t.Error(fmt.Errorf("%d counts are wrong: %w", wrong, err))
	}
}

// TestNewerSchemaThatIsReadable: a program continues to work with the tables of a newer version that allow it, so that both
// versions can run side by side, and a rollback to the older one is possible.
func TestNewerSchemaThatIsReadable(t *testing.T) {
	path := file(t)
	s := open(t, path)
	var known int
	if err := s.DB().QueryRow("select version from meanwhile_schema").Scan(&known); err != nil {
		t.Fatal(err)
	}
	mark := func(readableFrom int) {
		t.Helper()
		if _, err := s.DB().Exec("update meanwhile_schema set version = 99, readable_from = ?; create table newer"+fmt.Sprint(readableFrom)+" (x)", readableFrom); err != nil {
			t.Fatal(err)
		}
	}
	mark(known)
	older := open(t, path)
	insert(t, older, newJobs(t, 3))
	for what, err := range map[string]error{"ping": s.Ping(t.Context()), "migrate": s.Migrate(t.Context())} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	mark(known + 1)
	want := fmt.Sprintf("it has version 99, which programs that know version %d can use, and this one knows up to %d: update it", known+1, known)
	if err := s.Ping(t.Context()); !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), want) {
		t.Errorf("ping: %v, want %q", err, want)
	}
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, job.ErrSchema) {
		t.Errorf("open: %v, want ErrSchema", err)
	}
}

// TestUpgradeAndRollback: a newer program migrates a file that has jobs, while an older one goes on with it, and then goes back.
func TestUpgradeAndRollback(t *testing.T) {
	path := file(t)
	older, newer := open(t, path), open(t, path)
	version := newer.AddMigration("alter table meanwhile_job add column added text", "alter table meanwhile_job drop column added", older.Version())
	insert(t, older, newJobs(t, 3))
	want := fmt.Sprintf("it has version %d, and %d is needed: migrate it (meanwhile jobs migrate)", older.Version(), version)
	if err := newer.MigrateTo(t.Context(), older.Version()); err != nil { // it has checked the schema as an older program
		t.Fatal(err)
	}
	if err := newer.Ping(t.Context()); !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), want) {
		t.Errorf("ping before the migration: %v, want %q", err, want)
	}
	if err := newer.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	insert(t, older, newJobs(t, 3))
	insert(t, newer, newJobs(t, 3))
	insert(t, open(t, path), newJobs(t, 3))
	if err := newer.MigrateTo(t.Context(), older.Version()); err != nil {
		t.Fatal(err)
	}
	if err := newer.Ping(t.Context()); !errors.Is(err, job.ErrSchema) {
		t.Errorf("ping after the rollback: %v, want ErrSchema", err)
	}
	if n, err := drain(t.Context(), older); err != nil || n != 12 {
		t.Errorf("drained %d, %v; want 12", n, err)
	}
	checkIntegrity(t, older)
}

// TestSchemaOfADevelopmentVersion: tables from before the first release cannot be migrated.
func TestSchemaOfADevelopmentVersion(t *testing.T) {
	path := file(t)
	s := open(t, path)
	if _, err := s.DB().Exec("update meanwhile_schema set version = 3, readable_from = 3; create table other (x)"); err != nil {
		t.Fatal(err)
	}
	_, openErr := sqlite.Open(t.Context(), path)
	const want = "it has version 3, from before the first release"
	for what, err := range map[string]error{"ping": s.Ping(t.Context()), "open": openErr, "migrate to 0": s.MigrateTo(t.Context(), 0)} {
		if !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
}
