package postgres_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// A traced pool records the statements that it runs, and how many rows they return or change.
type traced struct {
	mu   sync.Mutex
	ran  []string
	rows int64
}

func (tr *traced) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ran = append(tr.ran, data.SQL)
	return ctx
}

func (tr *traced) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.rows += data.CommandTag.RowsAffected()
}

// openTraced makes a store whose statements are recorded.
func openTraced(t *testing.T) (*postgres.Store, *traced) {
	t.Helper()
	url := database(t, server())
	open(t, url)
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	tr := new(traced)
	config.ConnConfig.Tracer = tr
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, tr
}

// TestApplyIsOneStatement: an action is one statement for each thousand jobs, with one row for an answer, whatever the action.
func TestApplyIsOneStatement(t *testing.T) {
	s, tr := openTraced(t)
	const jobs = 2500
	insertMany(t, s, jobs)
	for _, action := range []job.Action{job.ActionPriority(7), job.ActionMove("other"), job.ActionCancel, job.ActionRetry, job.ActionDiscard, job.ActionDelete} {
		tr.mu.Lock()
		tr.ran, tr.rows = nil, 0
		tr.mu.Unlock()
		done, err := job.Apply(t.Context(), s, job.Filter{}, action)
		if err != nil || done.Changed != jobs {
			t.Fatalf("%s: %+v, %v", action, done, err)
		}
		tr.mu.Lock()
		statements := 0
		for _, sql := range tr.ran {
			if strings.HasPrefix(sql, "with listed") {
				statements++
			}
		}
		if statements != 3 || tr.rows > 2*3 {
			t.Errorf("%s of %d jobs took %d statements and %d rows, want 3 and no more than 6:\n%q", action, jobs, statements, tr.rows, tr.ran)
		}
		tr.mu.Unlock()
	}
}

// TestApplyFindsAlongAnIndex: a part of an action reads what it changes and not the whole table, also while the server knows nothing about
// the table yet.
func TestApplyFindsAlongAnIndex(t *testing.T) {
	url := database(t, server())
	inserter := open(t, url)
	execSQL(t, inserter.Pool(), "alter table meanwhile.queued set (autovacuum_enabled = off)")
	insertMany(t, inserter, 5000)
	pool, plans := explained(t, url)
	s, err := postgres.New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, err := job.Apply(t.Context(), s, job.Filter{Kinds: []string{"test"}}, job.ActionPriority(7))
	if err != nil || done.Changed != 5000 {
		t.Fatalf("%+v, %v", done, err)
	}
	parts := 0
	for _, plan := range plans() {
		if !strings.Contains(plan, "with listed") {
			continue
		}
		parts++
		if !strings.Contains(plan, "Scan Backward using queued_pkey on queued") || strings.Contains(plan, "Seq Scan on queued") {
			t.Errorf("the table of queued jobs is read from end to end:\n%s", plan)
		}
	}
	if parts < 5 {
		t.Errorf("there are plans of %d parts, want 5 at least", parts)
	}
}

// explained makes a pool whose server explains each statement that it runs. plans returns them.
func explained(t *testing.T, url string) (pool *pgxpool.Pool, plans func() []string) {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, n.Message)
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "load 'auto_explain'; set auto_explain.log_min_duration = 0; set client_min_messages = log")
		return err
	}
	if pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
