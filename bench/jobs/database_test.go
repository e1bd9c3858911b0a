package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

var databases atomic.Int64

// newDatabase creates a database that is removed at the end, and returns its URL or path.
func newDatabase(tb testing.TB, store string) string {
	tb.Helper()
	switch store {
	case "redis":
		return newRedis(tb)
	case "sqlite":
		return filepath.Join(tb.TempDir(), "jobs.db")
	}
	server, err := url.Parse(variable("MEANWHILE_BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	name := fmt.Sprintf("meanwhile_bench_%d_%d", os.Getpid(), databases.Add(1))
	if err := execPostgres(server.String(), "create database "+name); err != nil {
		if os.Getenv("MEANWHILE_CI") != "1" {
			tb.Skip("no PostgreSQL: ", err)
		}
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := execPostgres(server.String(), "drop database "+name+" with (force)"); err != nil {
			tb.Error(err)
		}
	})
	where := *server
	where.Path = "/" + name
	return where.String()
}

func execPostgres(url string, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// rest runs the maintenance that the database would otherwise run on its own, perhaps while one library is measured.
func rest(tb testing.TB, store, where string) {
	tb.Helper()
	if store != "postgres" || size(1, 0) == 0 {
		return
	}
	if err := execPostgres(where, "vacuum analyze", "checkpoint"); err != nil {
		tb.Fatal(err)
	}
}

// look opens a snapshot of the database and keeps it open until the end, like a forgotten transaction.
func look(tb testing.TB, store, where string) {
	tb.Helper()
	driver := map[string]string{"postgres": "pgx", "sqlite": "sqlite"}[store]
	db, err := sql.Open(driver, where)
	if err != nil {
		tb.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelDefault})
	if err != nil {
		tb.Fatal(err)
	}
	query := "select count(*) from sqlite_master"
	if store == "postgres" {
		if _, err := tx.Exec("set transaction isolation level repeatable read"); err != nil {
			tb.Fatal(err)
		}
		query = "select count(*) from pg_class"
	}
	var n int
	if err := tx.QueryRow(query).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = tx.Rollback()
		_ = db.Close()
	})
}
