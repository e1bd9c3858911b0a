package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A state is a dashboard with certain content, available or not.
type state struct {
	name  string
	h     http.Handler
	paths []string

	// away, if set, makes the source of live pages unavailable, or available again.
	away func(server *httptest.Server, away bool)
}

// states are: a scene; an empty store; failures, trouble and long names; more queues and kinds than are listed, and large args; a read-only reader; a
// store that does not answer; a server, and a store, that stop answering while a page is shown; logs without jobs. Each has all pages that are
// possible in it.
func (s *stage) states(t *testing.T) []state {
	t.Helper()
	title := "shop"
	dashboard := func(c dash.Config) http.Handler {
		if c.Title == "" {
			c.Title, c.Version = title, "1.4.2"
		}
		return dash.New(c)
	}
	var down, fails atomic.Bool
	down.Store(true)
	failing := newFailingStore(s.Store)
	many, large := manyQueues(t)
	gone := &gate{Handler: dashboard(dash.Config{Store: s.Store, Logs: s.logs})}
	return []state{
		{name: "full", h: dashboard(dash.Config{Store: s.Store, Logs: s.logs}), paths: append(
			s.paths(), "/jobs/"+s.completed.String(), "/jobs/"+s.scheduled.String(), "/kind?name=feed.import", "/jobs?args=user%3D7&kind=mail.send", "/jobs?args=wrong",
			"/jobs?worker=shop-1&sort=-took", "/jobs/action?action=delete&all=1", "/jobs/action?action=priority&all=1&kind=mail.send", "/workers/action?worker=shop-1&action=stop",
			"/jobs/"+s.Failed.String()+"/clone", "/logs?q=nothing", "/logs?q=%28wrong", "/nothing", "/jobs?before="+s.Failed.String(), "/failures?kind=mail.send",
			"/jobs?did-action=cancel&did=1&did-skipped=2",
		)},
		{name: "empty", h: dashboard(dash.Config{Store: memory.New()}), paths: []string{
			"/", "/jobs", "/failures", "/queues", "/workers", "/crons", "/audit", "/logs", "/jobs?kind=none", "/queue?name=mail", "/jobs/" + s.Failed.String(), "/failures?kind=mail.send",
		}},
		{name: "failing", h: dashboard(dash.Config{Store: failing, Logs: s.logs, Title: "a shop with a rather long title", Version: "v1.4.2-0.20260131150405"}), paths: append(
			s.paths(), "/queue?name=bulk", "/queue?name="+longName, "/kind?name="+longName, "/cron?name="+longName, "/jobs/"+failing.long.ID.String(),
			"/jobs/"+failing.long.ID.String()+"/clone", "/jobs/"+failing.counted.ID.String(), "/failures?kind=mail.send",
		)},
		{name: "many", h: dashboard(dash.Config{Store: many}), paths: []string{
			"/", "/queues", "/queue?name=shared", "/jobs/" + large.String(), "/jobs?kind=" + url.QueryEscape(oddName),
		}},
		{name: "readonly", h: dashboard(dash.Config{Store: s.Store, Logs: s.logs, ReadOnly: func(*http.Request) bool { return true }}), paths: append(
			s.paths(), "/jobs/"+s.completed.String(), "/jobs/"+s.scheduled.String(),
		)},
		{name: "down", h: dashboard(dash.Config{Store: downStore{s.Store, &down}}), paths: []string{"/", "/jobs", "/jobs/" + s.Failed.String(), "/queue?name=mail", "/logs"}},
		{name: "disconnected", h: gone, paths: s.paths(), away: func(server *httptest.Server, away bool) {
			if gone.closed.Store(away); away {
				server.CloseClientConnections()
			}
		}},
		{name: "stale", h: dashboard(dash.Config{Store: downStore{s.Store, &fails}, Logs: s.logs}), paths: []string{"/", "/jobs", "/queue?name=mail"}, away: func(_ *httptest.Server, away bool) { fails.Store(away) }},
		{name: "logs", h: dashboard(dash.Config{Logs: s.noLogs}), paths: []string{"/logs", "/logs?q=nothing", "/nothing"}},
	}
}

// oddName is the name of a kind that a page must neither interpret as markup nor let affect the text around it.
const oddName = `<b>"إستيراد"&amp;'\\👩ﷺ/../%2f?x=#`

// manyQueues returns a store with more queues and kinds than a page lists, and a job with large args.
func manyQueues(t *testing.T) (store job.Store, large job.ID) {
	t.Helper()
	var jobs []*job.Job
	add := func(kind, queue, args string) *job.Job {
		j, err := job.New(kind, json.RawMessage(args), job.Queue(queue))
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
		return j
	}
	for i := range 600 {
		queue, kind := fmt.Sprintf("tenant-%03d", i), fmt.Sprintf("import.%03d", i)
		add(kind, queue, `{}`)
		add(kind, "shared", `{}`)
		add("everywhere", queue, `{}`)
	}
	odd := add(oddName, "shared", fmt.Sprintf(`{"text":%q,"nested":%s}`, strings.Repeat("word", 50_000), strings.Repeat("[", 200)+strings.Repeat("]", 200)))
	store = memory.New()
	if _, err := store.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
	return store, odd.ID
}

// A gate is a handler in front of a server, which can be closed.
type gate struct {
	http.Handler
	closed atomic.Bool
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.closed.Load() {
		panic(http.ErrAbortHandler)
	}
	g.Handler.ServeHTTP(w, r)
}

// serve serves a state for the duration of a test.
func (s state) serve(t *testing.T) *httptest.Server {
	server := httptest.NewServer(s.h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// apart returns the stage with its own URL for the dashboard: a browser opens six connections to each host, and every live page occupies one.
func (s *stage) apart(t *testing.T) *stage { return s.at(state{h: s.h}.serve(t).URL) }

// at returns the stage with the dashboard at another URL.
func (s *stage) at(url string) *stage {
	other := *s
	other.url = url
	return &other
}
