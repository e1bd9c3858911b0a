package docs_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// quiet is for workers whose jobs are meant to fail.
var quiet = slog.New(slog.DiscardHandler)

// show calls fn with a store, and prints its error if there is one.
func show(fn func(ctx context.Context, store job.Store) error) {
	store := memory.New()
	defer store.Close()
	if err := fn(context.Background(), store); err != nil {
		fmt.Println(err)
	}
}

// workUntilDone runs a worker until n jobs have finished.
func workUntilDone(ctx context.Context, store job.Store, n int64, handlers ...job.Handler) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var finished atomic.Int64
	observe := func(e job.Event) {
		if e.Job != nil && e.Job.State.Finished() && finished.Add(1) == n {
			stop()
		}
	}
	return job.NewWorker(store, job.Config{Observe: observe, Logger: quiet}, handlers...).Run(ctx)
}

// runFor runs a worker for some time.
func runFor(t *testing.T, store job.Store, d time.Duration, c job.Config, handlers ...job.Handler) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	c.Logger = quiet
	if err := job.NewWorker(store, c, handlers...).Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func findJob(t *testing.T, store job.Store, id job.ID) *job.Job {
	t.Helper()
	j, err := job.Find(t.Context(), store, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// explains fails unless a guide has each of the messages.
func explains(t *testing.T, guide string, messages ...string) {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	unbroken := strings.Join(strings.Fields(string(text)), " ")
	for _, m := range messages {
		if !strings.Contains(unbroken, m) {
			t.Errorf("%s does not explain: %s", guide, m)
		}
	}
}

// table returns the cells of the table in a guide that begins with this line, without its head.
func table(t *testing.T, guide, head string) [][]string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), head+"\n")
	if !found {
		t.Fatalf("%s has no table %s", guide, head)
	}
	var rows [][]string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var row []string
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows[1:] // without the line below the head
}

// newDatabase makes a PostgreSQL database for the test, drops it at its end, and returns its URL.
func newDatabase(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, testenv.PostgresURL())
	if err != nil {
		testenv.PostgreSQL.Missing(t, err)
	}
	name := fmt.Sprintf("meanwhile_docs_%d_%08x", os.Getpid(), rand.Uint32())
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return testenv.PostgresDatabase(name)
}

// changed is how many jobs an action has changed.
func changed(done job.ActionResult, err error) (int, error) { return done.Changed, err }
