package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestInsertGivesNotice: a job that comes alone is one statement, which gives notice as well, once.
func TestInsertGivesNotice(t *testing.T) {
	s, tr := openTraced(t)
	conn, err := pgx.ConnectConfig(t.Context(), s.Pool().Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "listen meanwhile"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(t.Context(), newJob(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which waits for notices that are to be sent
		t.Fatal(err)
	}
	notice, err := conn.WaitForNotification(t.Context())
	if err != nil || notice.Payload != job.DefaultQueue {
		t.Fatalf("the notice is %+v, %v", notice, err)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	writes := slices.DeleteFunc(slices.Clone(tr.ran), func(sql string) bool {
		return !strings.Contains(sql, "insert_alike") && !strings.Contains(sql, "pg_notify")
	})
	if len(writes) != 1 {
		t.Errorf("the insert ran these statements: %q", tr.ran)
	}
}
