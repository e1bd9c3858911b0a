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
