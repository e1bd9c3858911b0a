package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
)

// runningKeys returns the limit keys of running jobs, sorted.
func runningKeys(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "select coalesce(limit_key, 'none') from meanwhile.running")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// TestRunningJobsHaveTheirLimitKeys: each function that claims a job writes its limit key, by which running jobs are counted.
func TestRunningJobsHaveTheirLimitKeys(t *testing.T) {
	key := func(i int) string { return fmt.Sprintf(`key "%d"`, i) }
	for name, of := range map[string]struct {
		limits job.KeyLimits
		kinds  []string
	}{
		"by heads":  {limits: job.KeyLimits{Running: 1}},
		"in order":  {limits: job.KeyLimits{InOrder: true}},
		"of a kind": {kinds: []string{"test"}},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t, server())
			s, pool := open(t, url), connect(t, url)
			setLimits(t, s, job.Limits{EachKey: of.limits})
			insertWithKeys(t, s, 2, key)
			want := []string{key(0), key(1)}
			if _, err := s.Claim(t.Context(), job.Claim{
				Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 10}}, Limit: 10, Lease: time.Minute, Kinds: of.kinds,
			}); err != nil {
				t.Fatal(err)
			}
			if got := runningKeys(t, pool); !slices.Equal(got, want) {
				t.Errorf("jobs of %q run, want %q", got, want)
			}
		})
	}
}

// TestMigrateRunningLimitKeys: running jobs have their limit keys before and after the migration to the version in which claims
// write them.
func TestMigrateRunningLimitKeys(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	setLimits(t, s, job.Limits{EachKey: job.KeyLimits{Running: 1}})
	insertWithKeys(t, s, 4, func(i int) string { return fmt.Sprint("key ", i%2) })
	jobs := claim(t, s, 10)
	want := []string{"key 0", "key 1"}
	check := func(when string) {
		t.Helper()
		if got := runningKeys(t, pool); !slices.Equal(got, want) {
			t.Errorf("%s: jobs of %q run, want %q", when, got, want)
		}
		if got := claim(t, s, 10); len(got) > 0 {
			t.Errorf("%s: claimed %d jobs of keys that are at capacity", when, len(got))
		}
	}
	check("after the claim")
	if err := s.MigrateTo(t.Context(), 26); err != nil {
		t.Fatal(err)
	}
	if got := runningKeys(t, pool); !slices.Equal(got, want) {
		t.Errorf("before the migration: jobs of %q run, want %q", got, want)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after the migration")
	for _, j := range jobs {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(jobs...)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle: lost %v, %v", lost, err)
	}
	if got := append(claim(t, s, 10), claim(t, s, 10)...); len(got) != 2 { // the first claim detects that the rows have moved
		t.Errorf("claimed %d jobs once others had ended, want 2", len(got))
	}
}
