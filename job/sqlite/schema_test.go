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

// TestMigrateWithJobs: Open migrates a file with the schema before, and keeps its jobs.
func TestMigrateWithJobs(t *testing.T) {
	path := file(t)
	s := open(t, path)
	insert(t, s, []*job.Job{newJob(t), newJob(t)})
	if err := s.MigrateTo(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, job.ErrSchema) {
		t.Errorf("ping in the schema before: %v", err)
	}
	again := open(t, path)
	insert(t, again, []*job.Job{newJob(t, job.Meta("tenant", "7"))})
	if n, err := drain(t.Context(), again); n != 3 || err != nil {
		t.Errorf("drained %d, %v; want 3", n, err)
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

// TestSchemaOfBeforeReadableFrom: the version table once had no column for readableFrom.
func TestSchemaOfBeforeReadableFrom(t *testing.T) {
	s := open(t, file(t))
	if _, err := s.DB().Exec("alter table meanwhile_schema drop column readable_from"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	for range 2 {
		if err := s.MigrateTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, s, newJobs(t, 3))
}

// TestMigrateLimitKeys: until version 15, the limit key of a job was part of its options. The jobs read from a file are the same before and after
// the migration.
func TestMigrateLimitKeys(t *testing.T) {
	s := open(t, file(t))
	if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 1, InOrder: true}}); err != nil {
		t.Fatal(err)
	}
	var jobs []*job.Job
	for _, opts := range [][]job.EnqueueOption{
		{job.LimitKey("tenant \"7\"")},
		{job.LimitKey("é"), job.Cost(5), job.Meta("a", "b")},
		{job.Cost(3)},
		nil,
	} {
		for range 3 {
			jobs = append(jobs, newJob(t, opts...))
		}
	}
	insert(t, s, jobs)
	claim := benchClaim
	claim.Limit = 3
	claimed, err := s.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	ended := *claimed.Jobs[0]
	ended.State = job.Completed
	if _, err := s.Settle(t.Context(), 1, job.Outcomes(&ended)...); err != nil {
		t.Fatal(err)
	}
	before := options(t, s)
	if err := s.MigrateTo(t.Context(), 15); err != nil {
		t.Fatal(err)
	}
	var derived int
	if err := s.DB().QueryRow("select count(*) from meanwhile_job where limit_key = json_extract(options, '$.limit_key[0]')").Scan(&derived); err != nil || derived != 6 {
		t.Errorf("in version 15 %d jobs have a limit key in their options, %v; want 6", derived, err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := options(t, s); !slices.Equal(got, before) {
		t.Errorf("after the migration the options are\n%v, want\n%v", got, before)
	}
	for _, j := range claimed.Jobs[1:] {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(claimed.Jobs[1:]...)...); err != nil || len(lost) > 0 {
		t.Errorf("settle lost %d: %v", len(lost), err)
	}
	if n, err := drain(t.Context(), s); err != nil || n != len(jobs)-len(claimed.Jobs) {
		t.Errorf("drained %d, %v; want %d", n, err, len(jobs)-len(claimed.Jobs))
	}
	checkIntegrity(t, s)
}

// options returns the options of all jobs.
func options(t *testing.T, s *sqlite.Store) []string {
	t.Helper()
	jobs, err := s.List(t.Context(), job.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, j := range jobs {
		found = append(found, fmt.Sprintf("%v %s %q %d %v", j.ID, j.State, j.LimitKey, j.Cost, j.Meta))
	}
	return found
}
