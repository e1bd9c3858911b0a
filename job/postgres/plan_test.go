package postgres_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestPlans: whatever the server knew of the tables when a connection called the functions first, what it keeps walks along
// the one index that is right for large tables, and stops at its limit.
func TestPlans(t *testing.T) {
	want := map[string][]string{
		"claim":         {"Index Scan using queued_due on queued"},
		"settle_alike":  {"Index Scan using running_pkey on running"},
		"list_finished": {"Index Only Scan Backward using finished_class", "Index Only Scan Backward using finished_failed"},
	}
	for _, first := range []string{"", "analyze", "vacuum analyze"} {
		for _, rows := range []int{0, 1, 2000} {
			t.Run(fmt.Sprintf("%d rows %s", rows, first), func(t *testing.T) {
				url := database(t, server())
				s := open(t, url)
				insertMany(t, s, rows)
				plans := callFunctions(t, url, first, func() { insertMany(t, s, 20000) })
				for name, scans := range want {
					plan := plans[name]
					for _, scan := range scans {
						if !strings.Contains(plan, scan) {
							t.Errorf("the plan of %s has no %s:\n%s", name, scan, plan)
						}
						plan = strings.ReplaceAll(plan, scan, "")
					}
					// That by which a list looks at one job.
					plan = strings.ReplaceAll(plan, "Index Scan using finished_pkey on finished w", "")
					if bad := badStep.FindString(plan); bad != "" {
						t.Errorf("the plan of %s has a %q:\n%s", name, bad, plan)
					}
				}
			})
		}
	}
}

// badStep is one whose cost grows with a table.
var badStep = regexp.MustCompile(`Sort |Bitmap|Seq Scan|Scan (Backward )?using finished|Scan using queued_pkey`)

func insertMany(t *testing.T, s job.Store, n int) {
	t.Helper()
	jobs := make([]*job.Job, n)
	for i := range jobs {
		jobs[i] = newJob(t)
	}
	if _, err := s.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
}

// callFunctions calls them in one session, before grow and after it, and returns the plans of the last calls by function.
func callFunctions(t *testing.T, url, first string, grow func()) map[string]string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	plans := map[string]string{}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		for name, statement := range map[string]string{"claim": "with wanted", "settle_alike": "with gone", "list_finished": ".finished l\n"} {
			if strings.Contains(n.Message, statement) {
				plans[name] = n.Message[strings.LastIndex(n.Message, "\n    select"):]
			}
		}
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, append([]any{pgx.QueryExecModeDescribeExec}, args...)...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	call := func() {
		t.Helper()
		run("select meanwhile.claim($1, $2, 500, 'w', '1 minute', $3, $4, '{k}')", []string{job.DefaultQueue}, []int32{500}, make([]time.Time, 9), make([][16]byte, 9))
		run("select meanwhile.settle_alike('w', (select array_agg(id) from meanwhile.running), 1, 'completed')")
		run("select meanwhile.list_finished('{default}', '{k}', '{completed}', $1, $2, 200, null, null, null, null, null)", [16]byte{}, [16]byte{0xff})
	}
	if first != "" {
		for _, table := range []string{"queued", "running", "finished"} {
			run(first + " meanwhile." + table)
		}
	}
	call()
	grow()
	for _, set := range []string{"load 'auto_explain'", "set auto_explain.log_min_duration = 0", "set auto_explain.log_nested_statements = on", "set client_min_messages = log"} {
		run(set)
	}
	call()
	mu.Lock()
	defer mu.Unlock()
	return plans
}
