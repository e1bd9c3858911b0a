package docs_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A Page is the args of a job.
type Page struct {
	URL string `json:"url"`
}

// IndexPage is a kind of job, with the name and the defaults of its jobs.
var IndexPage = job.Define[Page]("page.index", job.Queue("search"), job.MaxAttempts(5))

// runJobs enqueues a job, which is on disk when Enqueue returns, and runs jobs until ctx is canceled.
func runJobs(ctx context.Context, file string, index func(context.Context, Page) error) error {
	store, err := sqlite.Open(ctx, file) // or postgres.Open(ctx, "postgres://app@db.example.org/app")
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := IndexPage.Enqueue(ctx, store, Page{URL: "https://go.dev/"}); err != nil {
		return err
	}
	worker := job.NewWorker(store, job.Config{Concurrency: 1000}, IndexPage.Handle(index))
	return worker.Run(ctx)
}

func TestReadmeJobs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var indexed []string
	err := runJobs(ctx, filepath.Join(t.TempDir(), "jobs.db"), func(_ context.Context, p Page) error {
		indexed = append(indexed, p.URL)
		stop()
		return nil
	})
	if err != nil || len(indexed) != 1 || indexed[0] != "https://go.dev/" {
		t.Errorf("indexed %q, %v", indexed, err)
	}
}

// logToServer has log/slog send records to a log server.
func logToServer(address string) (*logs.Handler, error) {
	handler, err := logs.NewHandler(address, nil) // such as tcp://logs.example.org:6767
	if err != nil {
		return nil, err
	}
	slog.SetDefault(slog.New(handler))
	return handler, nil
}

func TestReadmeLogs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // for the spool
	before := slog.Default()
	defer slog.SetDefault(before)
	handler, err := logToServer("tcp://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if slog.Default().Handler() != slog.Handler(handler) {
		t.Error("the default logger has another handler")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // there is no server to wait for
	_ = handler.Close(ctx)
}
