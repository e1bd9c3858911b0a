package jobs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
)

// BenchmarkDashboardPages is BenchmarkPages for whole pages of the dashboard: as HTML, each the median of ten.
func BenchmarkDashboardPages(b *testing.B) {
	n := size(10_000_000, 1000)
	ctx := b.Context()
	medians := map[string]time.Duration{}
	for b.Loop() {
		where := newDatabase(b, "postgres")
		store, err := openPostgres(ctx, where)
		if err != nil {
			b.Fatal(err)
		}
		if err := execPostgres(where, fmt.Sprint("set bench.jobs = ", n), ourArchive); err != nil {
			b.Fatal(err)
		}
		rest(b, "postgres", where)
		for _, page := range dashboardPages(b, store) {
			medians[page.name] = median(b, page)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for name, m := range medians {
		b.ReportMetric(milliseconds(m), name+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func dashboardPages(b *testing.B, store job.Store) []page {
	b.Helper()
	newest, err := store.List(b.Context(), job.Filter{Limit: 1})
	if err != nil || len(newest) == 0 {
		b.Fatalf("%d jobs, %v", len(newest), err)
	}
	h := dash.New(dash.Config{Store: store})
	get := func(path string) func(context.Context) error {
		return func(ctx context.Context) error {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			if w.Code != http.StatusOK {
				return fmt.Errorf("%s: status %d", path, w.Code)
			}
			return nil
		}
	}
	return []page{
		{"overview", get("/")},
		{"jobs", get("/jobs")},
		{"state", get("/jobs?state=discarded")},
		{"kind", get("/jobs?kind=kind7")},
		{"queue-and-state", get("/jobs?queue=queue7&state=discarded")},
		{"args", get("/jobs?args=n%3D77")},
		{"job", get("/jobs/" + newest[0].ID.String())},
		{"queues", get("/queues")},
	}
}
