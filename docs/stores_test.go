package docs_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// The stores that job.Open knows in the guides are imported like this.
const importStores = `
import (
	_ "github.com/meanwhile-go/meanwhile/job/postgres"
	_ "github.com/meanwhile-go/meanwhile/job/redis"
	_ "github.com/meanwhile-go/meanwhile/job/sqlite"
)
`

func TestImportStores(t *testing.T) {
	testenv.LongTest(t)
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte("package main\n"+importStores+"\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// migrated opens a new PostgreSQL database with the tables in it.
func migrated(ctx context.Context, url string) (*postgres.Store, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// The first program of jobs.md does on PostgreSQL what it does on SQLite.
func TestProgramOnPostgreSQL(t *testing.T) {
	testenv.LongTest(t)
	url := newDatabase(t)
	store, err := migrated(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	blocks := readBlocks(t, "jobs.md")
	for i, b := range blocks {
		if !strings.HasPrefix(b.text, "package main\n") {
			continue
		}
		const before = `"sqlite:jobs.db"`
		if strings.Count(b.text, before) != 1 {
			t.Fatalf("%v: it has not one URL", b)
		}
		b.text = strings.Replace(b.text, before, `"`+url+`"`, 1)
		runPrograms(t, []program{{block: b, output: &blocks[i+1]}})
	}
}

func TestPostgreSQLTransaction(t *testing.T) {
	ctx, url := t.Context(), newDatabase(t)
	store, err := migrated(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE TABLE orders (number int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	order := func() error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", 7); err != nil {
			return err
		}
		if _, err := SendMail.Enqueue(ctx, store.Tx(tx), Mail{User: 7}); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	if err := order(); err != nil {
		t.Fatal(err)
	}
	if err := order(); err == nil {
		t.Error("the same order was written twice")
	}
	if n := countJobs(t, store); n != 1 {
		t.Errorf("there are %d jobs, want that of the order", n)
	}
}

func TestMigrationsOfTheGuide(t *testing.T) {
	ctx, url := t.Context(), newDatabase(t)
	migrate := func() error {
		store, err := postgres.Open(ctx, url)
		if err != nil {
			return err
		}
		defer store.Close()
		if err := store.Migrate(ctx); err != nil {
			return err
		}
		return store.Ping(ctx)
	}
	remove := func(store *postgres.Store) error {
		if err := store.MigrateTo(ctx, 0); err != nil {
			return err
		}
		return store.Ping(ctx)
	}
	store, err := postgres.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Ping(ctx); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("before the migration: got %v, want %v", err, job.ErrNoSchema)
	}
	if err := migrate(); err != nil {
		t.Error(err)
	}
	if err := remove(store); !errors.Is(err, job.ErrNoSchema) {
		t.Errorf("after going down to 0: got %v, want %v", err, job.ErrNoSchema)
	}
}

func TestBackupOfTheGuide(t *testing.T) {
	ctx, folder := t.Context(), t.TempDir()
	file, backup := filepath.Join(folder, "jobs.db"), filepath.Join(folder, "backup.db")
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := SendMail.Enqueue(ctx, store, Mail{}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(full)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", backup)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := sqlite.Open(ctx, backup)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if n := countJobs(t, copied); n != 1 {
		t.Errorf("the backup has %d jobs, want 1", n)
	}
}

func countJobs(t *testing.T, store job.Store) (n int) {
	t.Helper()
	for _, err := range job.List(t.Context(), store, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestStoresMessages(t *testing.T) {
	_, err := job.Open(t.Context(), "postgresq:")
	message, _, _ := strings.Cut(strings.ReplaceAll(err.Error(), "postgresq:", "postgres:"), ": known are")
	explains(t, "stores.md", message, job.ErrNoSchema.Error(), job.ErrClosed.Error())
}

// TestSizes compares the table of sizes in stores.md with 10,000 jobs.
func TestSizes(t *testing.T) {
	testenv.LongTest(t)
	ctx := t.Context()
	rows := table(t, "stores.md", "| | queued | completed |")
	if len(rows) != 2 {
		t.Fatalf("the table has %d rows, want 2", len(rows))
	}

	file, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	compareSizes(t, file, rows[0], func() (size int64, err error) {
		err = file.DB().QueryRowContext(ctx, `
			SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&size)
		return size, err
	})

	url := newDatabase(t)
	server, err := migrated(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	compareSizes(t, server, rows[1], func() (size int64, err error) {
		// Copies of the tables: they have no dead rows, which an autoanalyze may keep from being removed.
		for _, name := range []string{"queued", "finished"} {
			_, err := conn.Exec(ctx, "CREATE TABLE copied_"+name+" (LIKE meanwhile."+name+" INCLUDING ALL EXCLUDING GENERATED);"+
				"INSERT INTO copied_"+name+" SELECT * FROM meanwhile."+name)
			if err != nil {
				return 0, err
			}
			var part int64
			if err := conn.QueryRow(ctx, "SELECT pg_total_relation_size('copied_"+name+"')").Scan(&part); err != nil {
				return 0, err
			}
			size += part
			if _, err := conn.Exec(ctx, "DROP TABLE copied_"+name); err != nil {
				return 0, err
			}
		}
		return size, nil
	})
}

// compareSizes measures how much jobs take when they are queued, and when they are completed. A quarter more or less is fine:
// the table is for large numbers.
func compareSizes(t *testing.T, store job.Store, row []string, size func() (int64, error)) {
	t.Helper()
	const jobs = 10_000
	measure := func() int64 {
		t.Helper()
		n, err := size()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	compare := func(what string, got int64, cell string) {
		t.Helper()
		want, err := strconv.ParseInt(cell, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got < want*3/4 || got > want*5/4 {
			t.Errorf("%s: %d bytes for a job that is %s, the table says %d", row[0], got, what, want)
		}
	}
	empty := measure()
	kind := job.Define[string]("search.index")
	_, err := kind.EnqueueAll(t.Context(), store, func(yield func(string, error) bool) {
		for range jobs {
			if !yield(strings.Repeat("x", 98), nil) { // 100 with the quotes
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	compare("queued", (measure()-empty)/jobs, row[1])
	if err := workUntilDone(t.Context(), store, jobs, kind.Handle(func(context.Context, string) error { return nil })); err != nil {
		t.Fatal(err)
	}
	compare("completed", (measure()-empty)/jobs, row[2])
}
