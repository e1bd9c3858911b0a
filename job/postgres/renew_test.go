package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestRenewPlan: whatever the server knows of the tables, a renewal reads no jobs but the worker's own, and no watches and
// commands if there are none.
func TestRenewPlan(t *testing.T) {
	for _, prepare := range []string{"", "analyze"} {
		t.Run(prepare, func(t *testing.T) {
			url := database(t, server())
			s, pool := open(t, url), connect(t, url)
			for range 10 {
				jobs := make([]*job.Job, 500)
				for i := range jobs {
					jobs[i] = newJob(t)
				}
				if _, err := s.Insert(t.Context(), jobs...); err != nil {
					t.Fatal(err)
				}
				claim(t, s, len(jobs))
			}
			if prepare != "" {
				execSQL(t, pool, prepare)
			}
			rows, err := pool.Query(t.Context(), "explain "+s.SQL("renew"), pgx.QueryExecModeDescribeExec, "w", make([][16]byte, 10), time.Minute, "{}",
				[]time.Time{}, time.Time{}, []string{}, []string{}, []int64{}, []string{}, [][16]byte{}, []int32{}, []string{}, int64(1), make([][16]byte, 3), job.MostWatched, job.CommandKept)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan on running") || strings.Contains(plan, "Hash Join") {
				t.Errorf("the plan reads all running jobs:\n%s", plan)
			}
		})
	}
}
