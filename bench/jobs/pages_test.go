package jobs

import (
	"context"
	_ "embed"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"github.com/meanwhile-go/meanwhile/job"
)

// A page is a query of a dashboard.
type page struct {
	name string
	load func(ctx context.Context) error
}

// BenchmarkPages measures counts and lists of 50 jobs with ten million finished jobs on PostgreSQL: 50 kinds in 10 queues, one in
// 20 discarded. Each figure is the median of ten. The jobs are inserted by an SQL statement.
func BenchmarkPages(b *testing.B) {
	n := size(10_000_000, 1000)
	for _, p := range peers {
		if p.store != "postgres" || p.lib == "river-tuned" { // tuning does not affect it
			continue
		}
		b.Run("store=postgres/lib="+p.lib, func(b *testing.B) {
			medians := map[string]time.Duration{}
			for b.Loop() {
				q, where := p.fresh(b, 1)
				pages, archive := pagesOf(b, q)
				if err := execPostgres(where, fmt.Sprint("set bench.jobs = ", n), archive); err != nil {
					b.Fatal(err)
				}
				rest(b, p.store, where)
				for _, page := range pages {
					medians[page.name] = median(b, page)
				}
			}
			for name, m := range medians {
				b.ReportMetric(milliseconds(m), name+"-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(b *testing.B, p page) time.Duration {
	b.Helper()
	var took []time.Duration
	for range 10 {
		began := time.Now()
		if err := p.load(b.Context()); err != nil {
			b.Fatal(p.name, ": ", err)
		}
		took = append(took, time.Since(began))
	}
	return percentile(took, 50)
}

var (
	//go:embed testdata/archivemeanwhile.sql
	ourArchive string
	//go:embed testdata/archiveriver.sql
	riverArchive string
)

// pagesOf returns the pages, and the SQL that fills the archive.
func pagesOf(b *testing.B, q queue) ([]page, string) {
	b.Helper()
	switch q := q.(type) {
	case *ourQueue:
		return ourPages(q.store), ourArchive
	case *riverQueue[pgx.Tx]:
		return riverPages(q.client), riverArchive
	}
	b.Fatalf("no pages of %T", q)
	return nil, ""
}

func ourPages(store job.Store) []page {
	list := func(f job.Filter) func(context.Context) error {
		f.Limit = 50
		return func(ctx context.Context) error {
			_, err := store.List(ctx, f)
			return err
		}
	}
	return []page{
		{"counts", func(ctx context.Context) error {
			_, err := store.Counts(ctx)
			return err
		}},
		{"newest", list(job.Filter{})},
		{"state", list(job.Filter{States: []job.State{job.Discarded}})},
		{"kind", list(job.Filter{Kinds: []string{"kind7"}})},
		{"queue-and-state", list(job.Filter{Queues: []string{"queue7"}, States: []job.State{job.Discarded}})},
		{"old", list(job.Filter{CreatedBefore: time.Now().Add(-time.Hour)})},
	}
}

func riverPages(client *river.Client[pgx.Tx]) []page {
	list := func(p *river.JobListParams) func(context.Context) error {
		p = p.First(50)
		return func(ctx context.Context) error {
			_, err := client.JobList(ctx, p)
			return err
		}
	}
	newest := river.NewJobListParams().OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	discarded := river.NewJobListParams().States(rivertype.JobStateDiscarded)
	byTime := discarded.OrderBy(river.JobListOrderByTime, river.SortOrderDesc)
	return []page{
		{"counts", func(ctx context.Context) error { // the query of its own dashboard
			_, err := client.Driver().GetExecutor().JobCountByAllStates(ctx, &riverdriver.JobCountByAllStatesParams{})
			return err
		}},
		{"newest", list(newest)},
		{"state", list(byTime)},
		{"kind", list(newest.Kinds("kind7"))},
		{"queue-and-state", list(byTime.Queues("queue7"))},
		{"old", list(newest.Where("created_at < now() - interval '1 hour'"))},
	}
}
