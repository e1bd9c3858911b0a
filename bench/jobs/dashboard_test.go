package jobs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
)

// BenchmarkDashboardPages measures the server's time for every page of the dashboard and for the first update of every live one, with a
// million jobs, see fillOperated. Each request is the first one of a new dashboard, which has not read anything yet: the worst case. The
// figures of a name are those of all its addresses, each requested twenty times.
func BenchmarkDashboardPages(b *testing.B) {
	for _, store := range []string{"postgres", "sqlite"} {
		b.Run("store="+store, func(b *testing.B) {
			where := newDatabase(b, store)
			s, err := map[string]func(context.Context, string) (job.Store, error){"postgres": openPostgres, "sqlite": openSQLite}[store](b.Context(), where)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			o, err := fillOperated(b.Context(), s, size(1_000_000, 2000))
			if err != nil {
				b.Fatal(err)
			}
			rest(b, store, where)
			for _, p := range o.pages() {
				b.Run("page="+p.name, func(b *testing.B) { p.measure(b, s) })
			}
		})
	}
}

// A webPage is a page of the dashboard, with one or more addresses that cost about the same.
type webPage struct {
	name  string
	paths []string
	live  bool // measure the first update of the page instead
}

func (p webPage) measure(b *testing.B, s job.Store) {
	var took []time.Duration
	for b.Loop() {
		for range size(20, 1) {
			for _, path := range p.paths {
				d, err := p.request(b.Context(), dash.New(dash.Config{Store: s}), path)
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, d)
			}
		}
	}
	b.ReportMetric(milliseconds(percentile(took, 50)), "p50-ms")
	b.ReportMetric(milliseconds(percentile(took, 99)), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

func (p webPage) request(ctx context.Context, h http.Handler, path string) (time.Duration, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := &reader{ResponseRecorder: httptest.NewRecorder(), leave: leave}
	if p.live {
		r.Header.Set("Accept", "text/event-stream")
	}
	began := time.Now()
	h.ServeHTTP(w, r)
	took := time.Since(began)
	if w.Code != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d: %s", path, w.Code, w.Body)
	}
	if p.live && !w.Flushed {
		return 0, fmt.Errorf("%s is not live", path)
	}
	return took, nil
}

// A reader closes a live page after its first update.
type reader struct {
	*httptest.ResponseRecorder
	leave func()
}

func (r *reader) Flush() {
	r.ResponseRecorder.Flush()
	r.leave()
}

// pages returns the pages of the dashboard, with the filters and orders that it offers.
func (o *operated) pages() []webPage {
	jobs := func(pairs ...string) string {
		q := url.Values{}
		for i := 0; i+1 < len(pairs); i += 2 {
			q.Add(pairs[i], pairs[i+1])
		}
		return "/jobs?" + q.Encode()
	}
	each := func(path func(job.State) string) (paths []string) {
		for _, state := range job.States() {
			paths = append(paths, path(state))
		}
		return paths
	}
	var sorted, orders []string
	for _, column := range []string{"kind", "state", "queue", "attempt", "when", "took"} {
		orders = append(orders, column, "-"+column)
	}
	for _, order := range orders {
		sorted = append(sorted, jobs("sort", order))
	}
	ofJob := func(suffix string) func(job.State) string {
		return func(state job.State) string { return "/jobs/" + o.example[state].ID.String() + suffix }
	}
	middle, oldest := o.middle.String(), o.oldest.String()
	one := o.example[job.Completed]
	list := []webPage{
		{name: "jobs", paths: []string{"/jobs"}},
		{name: "jobs-in-each-state", paths: each(func(s job.State) string { return jobs("state", string(s)) })},
		{name: "jobs-failed-or-retrying", paths: []string{jobs("state", "discarded", "state", "retrying")}},
		{name: "jobs-of-a-kind", paths: []string{jobs("kind", common), jobs("kind", rare), jobs("kind", "none"), jobs("kind", common+" "+rare)}},
		{name: "jobs-of-a-kind-in-each-state", paths: append(
			each(func(s job.State) string { return jobs("kind", common, "state", string(s)) }),
			each(func(s job.State) string { return jobs("kind", rare, "state", string(s)) })...,
		)},
		{name: "jobs-of-a-queue", paths: []string{jobs("queue", "queue-1"), jobs("queue", keyed), jobs("queue", "none")}},
		{name: "jobs-of-a-queue-in-each-state", paths: append(
			each(func(s job.State) string { return jobs("queue", "queue-1", "state", string(s)) }),
			each(func(s job.State) string { return jobs("queue", keyed, "state", string(s)) })...,
		)},
		{name: "jobs-of-a-kind-and-a-queue", paths: []string{jobs("kind", common, "queue", "queue-1"), jobs("kind", rare, "queue", "queue-1")}},
		{name: "jobs-of-a-time", paths: []string{
			jobs("since", "1h"), jobs("until", "5d"), jobs("since", "5d", "until", "4d"), jobs("until", "2000d"),
			jobs("since", "5d", "until", "4d", "kind", rare), jobs("since", "5d", "until", "4d", "queue", "queue-1", "state", "completed"),
		}},
		{name: "jobs-in-each-order", paths: sorted},
		{name: "jobs-by-id", paths: []string{jobs("id", middle), jobs("id", middle+" "+oldest), jobs("id", job.NewID().String())}},
		{name: "jobs-by-unique-key", paths: []string{jobs("key", o.key), jobs("key", "none")}},
		{name: "jobs-by-meta-id", paths: []string{jobs("meta", "jid="+o.metaID), jobs("meta", "jid=none")}},
		{name: "search-by-error", paths: []string{jobs("error", "timed out"), jobs("error", "no such text"), jobs("error", "timed out", "kind", common), jobs("error", "no such text", "state", "discarded")}},
		{name: "search-by-args", paths: []string{jobs("args", "user=7"), jobs("args", "user=-1"), jobs("args", "user=7", "kind", common), jobs("args", "user=-1", "state", "queued")}},
		{name: "search-by-meta", paths: []string{jobs("meta", "tenant=7"), jobs("meta", "tenant=none")}},
		{name: "search-by-worker", paths: []string{jobs("worker", "worker-1"), jobs("worker", "none")}},
		{name: "deep-page", paths: []string{jobs("before", middle), jobs("before", oldest)}},
		{name: "deep-page-in-each-state", paths: append(
			each(func(s job.State) string { return jobs("before", middle, "state", string(s)) }),
			each(func(s job.State) string { return jobs("before", oldest, "state", string(s)) })...,
		)},
		{name: "deep-page-of-a-kind-or-queue", paths: []string{jobs("before", middle, "kind", rare), jobs("before", middle, "queue", keyed), jobs("before", middle, "kind", common, "state", "completed")}},
		{name: "deep-page-of-a-search", paths: []string{jobs("before", middle, "args", "user=-1"), jobs("before", middle, "error", "no such text")}},
		{name: "job-in-each-state", paths: each(ofJob(""))},
		{name: "job-as-json", paths: each(ofJob("/raw"))},
		{name: "clone-a-job", paths: each(ofJob("/clone"))},
		{name: "overview", paths: []string{"/"}},
		{name: "failures", paths: []string{"/failures"}},
		{name: "failures-of-a-kind", paths: []string{"/failures?kind=" + common, "/failures?kind=" + rare}},
		{name: "queues", paths: []string{"/queues"}},
		{name: "queue", paths: []string{"/queue?name=queue-1", "/queue?name=" + keyed}},
		{name: "queue-for-a-day-or-week", paths: []string{"/queue?name=queue-1&range=24h", "/queue?name=queue-1&range=7d"}},
		{name: "kind", paths: []string{"/kind?name=" + common, "/kind?name=" + rare}},
		{name: "kind-for-a-day-or-week", paths: []string{"/kind?name=" + common + "&range=24h", "/kind?name=" + common + "&range=7d"}},
		{name: "workers", paths: []string{"/workers"}},
		{name: "crons", paths: []string{"/crons"}},
		{name: "cron", paths: []string{"/cron?name=cron-1"}},
		{name: "audit", paths: []string{"/audit", "/audit?before=2500"}},
		{name: "palette", paths: []string{"/palette"}},
		{name: "ask-before-an-action", paths: []string{
			"/jobs/action?action=retry&id=" + one.ID.String(), "/jobs/action?action=retry&all=1&state=discarded", "/jobs/action?action=delete&all=1&kind=" + common,
			"/workers/action?action=stop&worker=worker-1",
		}},
		{name: "ask-before-an-action-on-a-search", paths: []string{
			"/jobs/action?action=retry&all=1&state=retrying", "/jobs/action?action=delete&all=1&until=1d", "/jobs/action?action=retry&all=1&state=discarded&error=timed+out",
			"/jobs/action?action=delete&all=1&error=no+such+text", "/jobs/action?action=delete&all=1&args=user%3D-1",
		}},
	}
	var live []string
	searches := webPage{name: "update-of-a-search", live: true}
	for _, p := range list {
		switch p.name {
		case "jobs", "jobs-in-each-state", "jobs-of-a-kind", "jobs-of-a-queue", "job-in-each-state", "overview", "failures", "queues", "queue", "kind", "workers", "crons", "cron", "audit":
			live = append(live, p.paths...)
		case "search-by-error", "search-by-args":
			searches.paths = append(searches.paths, p.paths[1])
		}
	}
	return append(list, webPage{name: "update-of-each-live-page", paths: live, live: true}, searches)
}
