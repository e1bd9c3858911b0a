package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// storesOnDisk opens a new store of each kind.
var storesOnDisk = map[string]func(t testing.TB) job.Store{
	"sqlite": func(t testing.TB) job.Store {
		store, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "jobs.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	},
	"postgres": func(t testing.TB) job.Store {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, testenv.PostgresURL())
		if err != nil {
			testenv.PostgreSQL.Missing(t, err)
		}
		name := fmt.Sprintf("meanwhile_api_%d_%08x", os.Getpid(), rand.Uint32())
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
				t.Error(err)
			}
		})
		store, err := postgres.Open(ctx, testenv.PostgresDatabase(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	},
}

// drain runs workers that claim and finish jobs over HTTP, batch at a time, until n are finished.
func drain(tb testing.TB, store job.Store, n, batch, workers int) {
	h := api.New(api.Config{Store: store})
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Stop()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = workers
	call := func(path string, body []byte, into any) error {
		answer, err := client.Post(server.URL+api.Prefix+path, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			return fmt.Errorf("%s: %d %s, %v", path, answer.StatusCode, text, err)
		}
		return json.Unmarshal(text, into)
	}
	var mu sync.Mutex
	done, lost := 0, 0
	var all sync.WaitGroup
	for i := range workers {
		claim := fmt.Appendf(nil, `{"worker":"w%d","queues":["default"],"limit":%d}`, i, batch)
		all.Go(func() {
			for {
				var got claimed
				if err := call("/worker/claim", claim, &got); err != nil {
					tb.Error(err)
					return
				}
				if len(got.Jobs) == 0 {
					return
				}
				ends := make([]string, len(got.Jobs))
				for i, j := range got.Jobs {
					ends[i] = fmt.Sprintf(`{"session":%q,"id":%q,"attempt":%d,"outcome":"completed"}`, got.Session, j.ID, j.Attempt)
				}
				var answer finished
				if err := call("/worker/finish", []byte(`{"ends":[`+strings.Join(ends, ",")+`]}`), &answer); err != nil {
					tb.Error(err)
					return
				}
				mu.Lock()
				done, lost = done+len(ends), lost+len(answer.Lost)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if done != n || lost != 0 {
		tb.Errorf("%d jobs were finished and %d lost, want %d and none", done, lost, n)
	}
}

func fill(tb testing.TB, store job.Store, n int) {
	jobs := make([]*job.Job, 0, 1000)
	for i := range n {
		j, err := job.New("k", fmt.Appendf(nil, `{"n":%d}`, i))
		if err != nil {
			tb.Fatal(err)
		}
		if jobs = append(jobs, j); len(jobs) == cap(jobs) || i == n-1 {
			if _, err := job.Insert(tb.Context(), store, jobs...); err != nil {
				tb.Fatal(err)
			}
			jobs = jobs[:0]
		}
	}
}

// TestWorkOnEachStore: concurrent workers run each job once.
func TestWorkOnEachStore(t *testing.T) {
	t.Parallel()
	for name, open := range storesOnDisk {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			fill(t, store, 300)
			drain(t, store, 300, 7, 4)
			for j, err := range job.List(t.Context(), store, job.Filter{}) {
				if err != nil || j.State != job.Completed || j.Attempt != 1 {
					t.Fatalf("%+v, %v", j, err)
				}
			}
			var workers []string
			listed, err := store.Workers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range listed {
				workers = append(workers, w.Name)
			}
			if len(workers) != 4 {
				t.Errorf("got workers %q, want 4", workers)
			}
		})
	}
}

// BenchmarkWork measures the time of a job from claim to finish, over HTTP on loopback, with eight workers.
func BenchmarkWork(b *testing.B) {
	for name, open := range storesOnDisk {
		for _, batch := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(b *testing.B) {
				store := open(b)
				fill(b, store, b.N)
				b.ResetTimer()
				drain(b, store, b.N, batch, 8)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			})
		}
	}
}
