package postgres_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestPlans: whatever the server knew of the tables when a connection first called the functions, the plans that it caches use
// the one index that is right for large tables, and stop at the limit.
func TestPlans(t *testing.T) {
	want := map[string][]string{
		"claim_limited":  {"Index Only Scan using queued_lane on queued", "Index Scan using queues_pkey on queues"},
		"claim_first":    {"Index Only Scan using queued_due on queued"},
		"claim_strict":   {"Index Scan using queued_due on queued"},
		"claim_next":     {"Index Only Scan using queued_due on queued"},
		"refuse_range":   {"Index Only Scan using running_pkey on running", "Index Only Scan using finished_pkey on finished"},
		"refuse_each":    {"Index Only Scan using running_pkey on running", "Index Only Scan using finished_pkey on finished"},
		"settle_strict":  {"Index Scan using running_pkey on running"},
		"settle_keyed":   {"Index Scan using running_pkey on running"},
		"keyless_first":  {"Index Only Scan using queued_due on queued"},
		"claim_keyless":  {"Index Scan using queued_due on queued"},
		"keyless_next":   {"Index Only Scan using queued_due on queued"},
		"lanes_changed":  {"Index Scan using changes_pkey on changes"},
		"lanes_heads":    {"Index Scan using queued_lane on queued"},
		"lanes_more":     {"Index Scan using queued_lane on queued"},
		"lanes_load":     {"Index Scan using queued_lane on queued"},
		"lanes_first":    {"queued_in_order on queued", "holders_pkey on holders"},
		"lanes_due":      {"queued_due on queued", "queued_lane on queued"},
		"lanes_kept":     {"Index Scan using lanes_pkey on lanes", "running_lane on running", "Index Scan using overrides_pkey on overrides"},
		"lanes_hold":     {"Tid Scan on queued"},
		"lanes_give":     {"queued_lane on queued", "queued_due on queued", "queued_in_order on queued", "holders_pkey on holders"},
		"list_finished":  {"Index Only Scan Backward using finished_class", "Index Only Scan Backward using finished_failed"},
		"running_counts": {"Index Scan using running_pkey on running"},
	}
	for _, first := range []string{"", "analyze", "vacuum analyze"} {
		for _, rows := range []int{0, 1, 2000} {
			t.Run(fmt.Sprintf("%d rows %s", rows, first), func(t *testing.T) {
				url := database(t, server())
				s := open(t, url)
				insertMany(t, s, rows)
				insertLanes(t, s, rows)
				plans := callFunctions(t, url, first, func() {
					insertMany(t, s, 20000)
					insertLanes(t, s, 20000)
				})
				for name, scans := range want {
					plan := plans[name]
					for _, scan := range scans {
						if !strings.Contains(plan, scan) {
							t.Errorf("the plan of %s has no %s:\n%s", name, scan, plan)
						}
						plan = strings.ReplaceAll(plan, scan, "")
					}
					// A list reads each job by this step.
					plan = strings.ReplaceAll(plan, "Index Scan using finished_pkey on finished w", "")
					if bad := badStep.FindString(plan); bad != "" {
						t.Errorf("the plan of %s has a %q:\n%s", name, bad, plan)
					}
				}
			})
		}
	}
}

// TestPlanOfMetaID: a job is found by its meta ID along an index, in each table.
func TestPlanOfMetaID(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	insertMany(t, s, 5000)
	wanted := newJob(t, job.Meta(job.MetaID, "job-1"), job.Timeout(time.Minute))
	if _, err := s.Insert(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "analyze"); err != nil {
		t.Fatal(err)
	}
	sql, err := os.ReadFile("sql/list_meta_id.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "set enable_seqscan = off"); err != nil { // small tables are otherwise read whole
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "explain "+strings.Join(strings.SplitAfter(string(sql), "\n")[1:], ""), "job-1")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	for _, index := range []string{"queued_meta_id", "running_meta_id", "finished_meta_id"} {
		if !strings.Contains(plan, index) {
			t.Errorf("the plan does not use %s:\n%s", index, plan)
		}
	}
}

// TestPlanOfUniqueKey: jobs with a unique key are found along an index of the key.
func TestPlanOfUniqueKey(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	insertMany(t, s, 5000)
	wanted := newJob(t, job.Unique("one"))
	if _, err := s.Insert(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	pool := connect(t, url)
	execSQL(t, pool, "analyze")
	sql, err := os.ReadFile("sql/list.sql")
	if err != nil {
		t.Fatal(err)
	}
	args := []any{pgx.QueryExecModeDescribeExec, true, true, true, 50, nil, nil, nil, nil, nil, nil, true, true, true, nil, wanted.UniqueKey, nil, nil, nil, nil}
	rows, err := pool.Query(t.Context(), "explain (analyze, costs off) "+string(sql[strings.Index(string(sql), "\n("):]), args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if !regexp.MustCompile(`queued_unique on queued \(actual .* rows=1 loops=1`).MatchString(plan) || strings.Contains(plan, "Seq Scan on queued") {
		t.Errorf("the plan is\n%s", plan)
	}
}

// TestPlanOfNoneQueued: the queued jobs are not read if counts has no queued job of the kind.
func TestPlanOfNoneQueued(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	insertMany(t, s, 100)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	sql, err := os.ReadFile("sql/list_classes.sql")
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]bool{newJob(t).Kind: true, "none": false} {
		args := []any{true, true, true, 50, nil, nil, nil, []string{kind}, nil, nil, true, true, true, nil, nil, nil, nil, nil, nil}
		rows, err := conn.Query(t.Context(), "explain (analyze, costs off) "+string(sql[strings.Index(string(sql), "\nwith "):]), args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if got := regexp.MustCompile(`on queued \(actual`).MatchString(plan); got != want {
			t.Errorf("the queued jobs are read for kind %s: %t, want %t\n%s", kind, got, want, plan)
		}
	}
}

// TestPlanOfFewQueued: if few of the queued jobs are of a kind, they are found in the indexes, which contain the kind, and the rows of other jobs
// are not read.
func TestPlanOfFewQueued(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	insertMany(t, s, 5000)
	for i := range 20 {
		var opts []job.EnqueueOption
		if i%2 == 1 {
			opts = append(opts, job.LimitKey("key"))
		}
		j, err := job.New("few", json.RawMessage("null"), opts...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Insert(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.List(t.Context(), job.Filter{Kinds: []string{"few"}, States: []job.State{job.Queued}, Limit: 50})
	if err != nil || len(found) != 20 {
		t.Errorf("%d jobs of the kind are found, want 20: %v", len(found), err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{"vacuum analyze meanwhile.queued", "set enable_seqscan = off", "set enable_bitmapscan = off"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	sql, err := os.ReadFile("sql/list_classes.sql")
	if err != nil {
		t.Fatal(err)
	}
	args := []any{true, true, true, 50, nil, nil, nil, []string{"few"}, nil, nil, true, true, true, nil, nil, nil, nil, nil, nil}
	rows, err := conn.Query(t.Context(), "explain (analyze, costs off) "+string(sql[strings.Index(string(sql), "\nwith "):]), args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	for _, step := range []string{"Index Only Scan using queued_due on queued", "Index Only Scan using queued_keyed on queued", "queued_pkey on queued"} {
		if !regexp.MustCompile(step + ` \w+ \(actual`).MatchString(plan) {
			t.Errorf("the plan has no %s:\n%s", step, plan)
		}
	}
}

// TestPlanOfRetrying: queued jobs that have failed before are found along their index, for any parameters.
func TestPlanOfRetrying(t *testing.T) {
	url := database(t, server())
	s := open(t, url)
	insertMany(t, s, 5000)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	sql, err := os.ReadFile("sql/list_classes.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"analyze", "set plan_cache_mode = force_generic_plan", "prepare list as " + string(sql[strings.Index(string(sql), "\nwith "):])} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	const retrying = "execute list(true, false, false, 50, null, null, null, null, null, null, false, false, true, null, null, null, null, null, null)"
	rows, err := conn.Query(t.Context(), "explain (analyze, costs off) "+retrying)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, line := range lines {
		if strings.Contains(line, "on queued") && strings.Contains(line, "(actual") {
			read = append(read, strings.TrimSpace(line))
		}
	}
	if len(read) != 1 || !strings.Contains(read[0], "using queued_failed") {
		t.Errorf("the queued jobs are read by %q, want their index queued_failed alone\n%s", read, strings.Join(lines, "\n"))
	}
}

// TestPlanOfActions: an action on jobs with unique keys finds each of them along the index, and reads no other jobs.
func TestPlanOfActions(t *testing.T) {
	const jobs, few = 3000, 100
	config, err := pgxpool.ParseConfig(database(t, server()))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(config.ConnConfig.RuntimeParams, map[string]string{
		"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off",
		"client_min_messages": "log",
	})
	var mu sync.Mutex
	var plan string
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(n.Message, "CTE found") {
			plan = n.Message[strings.Index(n.Message, "(cost="):]
		}
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := postgres.New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := make([]*job.Job, jobs)
	for i := range all {
		all[i] = newJob(t, job.Unique(fmt.Sprint("key ", i)))
	}
	insertKeyed(t, s, all...)
	for _, action := range []job.Action{job.ActionCancel, job.ActionRetry, job.ActionDiscard, job.ActionDelete} {
		done, err := s.Apply(t.Context(), job.Filter{Limit: few}, action)
		if err != nil || done.Changed != few {
			t.Fatalf("%s: %+v, %v", action, done, err)
		}
		mu.Lock()
		if bad := regexp.MustCompile(`on unique_keys.*(rows=[1-9]\d{3,} |loops=[1-9]\d{3,}\))|Rows Removed by .*: \d{4,}`).FindString(plan); bad != "" || plan == "" {
			t.Errorf("%s of %d jobs has %q in its plan:\n%s", action, few, bad, plan)
		}
		mu.Unlock()
	}
}

// badStep matches the steps of a plan whose cost grows with a table.
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

func insertLanes(t *testing.T, s job.Store, n int) {
	t.Helper()
	jobs := make([]*job.Job, n)
	for i := range jobs {
		jobs[i] = newJob(t, job.Queue("keyed"), job.LimitKey(fmt.Sprint("key ", i%2000)))
	}
	if _, err := s.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
}

// callFunctions calls the functions in one session, before and after grow, and returns the plans of the last calls by function.
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
		for name, statement := range map[string]string{
			"claim_limited": "q.queue = any ($1) and q.limit_key", "claim_first": "a(run_at, id, n)", "claim_strict": "limit least(room", "claim_next": "q.run_at > now()", "settle_strict": "select g.*, now()", "settle_keyed": "array_agg(limit_key), 0", "list_finished": ".finished l\n",
			"claim_keyless": "limit room", "keyless_first": "(10 - a.n)", "keyless_next": "q.run_at > $9", "lanes_changed": "c.n > $2 order by c.n", "lanes_heads": "q.priority < w.below", "lanes_more": "(w.run_at, w.id)",
			"lanes_load": "limit $3 * $4", "lanes_first": "w.key collate \"C\" and (h.created, h.id) <", "lanes_due": "select w.key from unnest", "lanes_kept": "o.limits, case when $3",
			"lanes_hold": "q.ctid = w.place", "lanes_give": "w(key, want)",
			"running_counts": "group by queue, kind", "refuse_range": "between ($1)[1] and", "refuse_each": "r.id = i",
		} {
			if strings.Contains(n.Message, statement) {
				plans[name] = n.Message[strings.Index(n.Message, "(cost="):]
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
	keys, wants := make([]string, 500), make([]int32, 500)
	for i := range keys {
		keys[i], wants[i] = fmt.Sprint("key ", i), 2
	}
	call := func() {
		t.Helper()
		run("insert into meanwhile.queues (queue, paused) values ('keyed', false) on conflict do nothing")
		run("insert into meanwhile.changes select 'keyed', n, 0, '{}' from generate_series(1, 100) n on conflict do nothing")
		run("update meanwhile.queues set changed = (select max(n) from meanwhile.changes) where queue = 'keyed'")
		run("select meanwhile.lanes_changed('keyed', 100, 0, 0)")
		run("insert into meanwhile.lanes select 'keyed', 'key ' || n, now(), null, null, now() from generate_series(0, 1999) n on conflict do nothing")
		run("insert into meanwhile.overrides select 'keyed', 'key ' || n, '{\"running\":1}' from generate_series(0, 1999) n on conflict do nothing")
		run("select meanwhile.lanes_heads('keyed', $1, array_fill(10::smallint, '{500}'), 17)", keys)
		run("select meanwhile.lanes_more('keyed', $1, array_fill(5::smallint, '{500}'), array_fill(now() - interval '1 hour', '{500}'), array_fill(gen_random_uuid(), '{500}'), array_fill(3, '{500}'), now())", keys)
		run("select meanwhile.lanes_load('keyed', '', 10000, 17)")
		run("select meanwhile.lanes_first('keyed', $1, now())", keys)
		run("select meanwhile.lanes_due('keyed', $1, 5::smallint, now())", keys)
		run("select meanwhile.lanes_kept('keyed', $1, true, true, true)", keys)
		run("select meanwhile.lanes_hold('keyed', 5::smallint, i.ids, i.places, now(), 'w', 1, 1) from (select array_agg(id) ids, array_agg(ctid) places from (select id, ctid from meanwhile.queued where queue = 'keyed' limit 500) q) i")
		run("select meanwhile.lanes_give('keyed', 5, $1, $2, now(), 'w', 1, '{k}', 1)", keys, wants)
		run("select meanwhile.settle_keyed(2, (select array_agg(id) from meanwhile.running), 1, 'completed')")
		run("select meanwhile.claim_keyless($1, 5, 'w', 1, 1, $2, $3, '{k}', now(), 1)", job.DefaultQueue, make([]time.Time, 9), make([][16]byte, 9))
		run("select meanwhile.running_counts()")
		run("select meanwhile.refuse_stored($1)", [][16]byte{{}, {0xff}})
		run("select meanwhile.claim_strict($1, $2, 500, 'w', '1 minute', $3, $4, '{k}', 1, 1)", []string{job.DefaultQueue}, []int32{500}, make([]time.Time, 9), make([][16]byte, 9))
		run("select meanwhile.settle_strict(1, (select array_agg(id) from meanwhile.running), 1, 'completed')")
		run("select meanwhile.list_finished('{default}', '{k}', '{completed}', $1, $2, 200, null, null, null, null, null)", [16]byte{}, [16]byte{0xff})
	}
	if first != "" {
		for _, table := range []string{"queued", "running", "finished", "lanes", "touched", "noted", "changes", "overrides", "holders"} {
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
