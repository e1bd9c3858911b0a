package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestClaimPlan: whatever the server knows of the tables, a claim walks along the index of due jobs and stops at its limit;
// it neither sorts them nor looks at all.
func TestClaimPlan(t *testing.T) {
	for _, prepare := range []string{"", "analyze meanwhile.queued", "vacuum analyze meanwhile.queued"} {
		for _, when := range []string{"before", "after"} {
			t.Run(prepare+" "+when, func(t *testing.T) {
				url := database(t, server())
				s, pool := open(t, url), connect(t, url)
				if prepare != "" && when == "before" {
					execSQL(t, pool, prepare)
				}
				for range 30 {
					jobs := make([]*job.Job, 1000)
					for i := range jobs {
						jobs[i] = newJob(t)
					}
					if _, err := s.Insert(t.Context(), jobs...); err != nil {
						t.Fatal(err)
					}
				}
				if prepare != "" && when == "after" {
					execSQL(t, pool, prepare)
				}
				plan := claimPlan(t, s, pool)
				for _, want := range []string{"Index Scan using queued_due on queued", "Tid Scan on queued"} {
					if !strings.Contains(plan, want) {
						t.Errorf("the plan has no %s:\n%s", want, plan)
					}
				}
				for _, bad := range []string{"Sort", "Seq Scan on queued", "Bitmap"} {
					if strings.Contains(plan, bad) {
						t.Errorf("the plan has a %s:\n%s", bad, plan)
					}
				}
			})
		}
	}
}

func claimPlan(t *testing.T, s *postgres.Store, pool *pgxpool.Pool) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "explain "+s.SQL("claim"), pgx.QueryExecModeDescribeExec, []string{job.DefaultQueue},
		[]int32{500}, 500, "w", time.Minute, make([]time.Time, 9), make([][16]byte, 9))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
