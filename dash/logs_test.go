package dash_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// openLogs opens a store of records.
func openLogs(t *testing.T) storage.Store {
	t.Helper()
	dir := t.TempDir() // it is removed after the store is closed
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	opened, closed := make(chan storage.Store, 1), make(chan error, 1)
	go func() {
		closed <- meanwhile.Run(ctx, func(ctx context.Context) error {
			defer close(opened)
			s, err := segment.Open(ctx, dir, segment.Config{})
			if err != nil {
				return err
			}
			opened <- s
			<-ctx.Done()
			return s.Close()
		})
	}()
	s, ok := <-opened
	t.Cleanup(func() {
		stop()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
	if !ok {
		t.FailNow()
	}
	return s
}

// write stores records, each in its own batch.
func write(t *testing.T, s storage.Store, records ...logs.Record) {
	t.Helper()
	for _, r := range records {
		b := logs.Batch{Service: r.Service}
		v := r.View()
		b.Add(&v)
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
}

func at(ago time.Duration, service string, level slog.Level, message string, attrs ...slog.Attr) logs.Record {
	return logs.Record{Time: time.Now().Add(-ago).UTC(), Service: service, Level: level, Message: message, Attrs: attrs}
}

func logsPath(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "/logs?" + q.Encode()
}

func TestLogsPage(t *testing.T) {
	s := openLogs(t)
	jobID := job.NewID().String()
	write(t, s,
		at(3*time.Hour, "api", slog.LevelInfo, "started"),
		at(20*time.Minute, "api", slog.LevelWarn, "timed out: db-1", slog.Int("status", 503), slog.Duration("took", 1500*time.Millisecond)),
		at(10*time.Minute, "mail", slog.LevelError, "no relay\nfor two tries"),
	)
	inTask := at(5*time.Minute, "mail", slog.LevelDebug, "asked")
	inTask.Task, inTask.Job = "worker/mail.send-7/#1", jobID
	write(t, s, inTask)
	h := dash.New(dash.Config{Store: memory.New(), Logs: s})

	has(t, get(t, h, "/logs"), http.StatusOK, "started", "timed out: db-1", "no relay\nfor two tries", `<span class="attr-key">status</span>=503`, "=1.5s",
		`href="/jobs/`+jobID+`"`, html.EscapeString(logsPath("q", `task="worker/mail.send-7/#1"`)), html.EscapeString(logsPath("q", `job="`+jobID+`"`)),
		`data-page="/logs"`, `href="/logs" aria-current="page"`, "<option>api</option>", "<option>mail</option>", `class="f-error"`, `class="f-warn"`, "not <script>", "not style=", "not ZgotmplZ")
	for query, want := range map[string]string{
		logsPath("q", "timed"):                            "timed out",
		logsPath("q", `"timed out" status>=500`):          "timed out",
		logsPath("level", "error"):                        "no relay",
		logsPath("level", "warn", "service", "api"):       "timed out",
		logsPath("q", "timed or relay", "level", "error"): "no relay",
		logsPath("since", "30m", "until", "15m"):          "timed out",
		logsPath("until", "2h"):                           "started",
		logsPath("q", "job="+jobID):                       "asked",
		logsPath("q", `task="worker/mail.send-7"`):        "asked",
		logsPath("service", "mail", "q", "number=2"):      "asked",
	} {
		body := get(t, h, query).Body.String()
		for _, message := range []string{"started", "timed out", "no relay", "asked"} {
			if got := strings.Contains(body, `<span class="message">`+message); got != (message == want) {
				t.Errorf("%s shows %q: %t, want %q alone", query, message, got, want)
			}
		}
	}
	has(t, get(t, h, logsPath("q", "nothing")), http.StatusOK, "No record matches", "Clear")
	has(t, get(t, h, logsPath("service", "other", "level", "loud")), http.StatusOK, "No record matches", "<option selected>other</option>")
	for query, want := range map[string]string{
		logsPath("q", "timed level>=loud"):         "filter, column 14: &#34;loud&#34; is not a level",
		logsPath("q", "a) or (b", "level", "warn"): "filter, column 2: there is no ( for this )",
		logsPath("q", "password=x"):                "&#34;password&#34; is masked, and cannot be searched",
		logsPath("q", "-http.Api-Key~x"):           "is masked, and cannot be searched",
		logsPath("since", "yesterday"):             "Since: &#34;yesterday&#34; is neither an age",
		logsPath("since", "1h", "until", "2h"):     "Since is not before until",
		logsPath("before", "x"):                    "Page: there is none that begins there",
		logsPath("before", "1", "skip", "-1"):      "Page: there is none that begins there",
	} {
		has(t, get(t, h, query), http.StatusBadRequest, want, `aria-invalid="true"`)
	}
}

// TestLogsPages: paging to older records shows each record once, even if many have the same time.
func TestLogsPages(t *testing.T) {
	s := openLogs(t)
	b := logs.Batch{Service: "api"}
	begin := time.Now().Add(-time.Minute)
	for i := range 450 {
		r := logs.Record{Time: begin.Add(time.Duration(i/170) * time.Second), Message: fmt.Sprintf("message %d.", i)}
		v := r.View()
		b.Add(&v)
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	h := dash.New(dash.Config{Logs: s})
	path, seen, pages := "/logs?level=info", map[string]int{}, 0
	for path != "" {
		body := get(t, h, path).Body.String()
		for _, part := range strings.Split(body, `<span class="message">`)[1:] {
			message, _, _ := strings.Cut(part, "<")
			seen[message]++
		}
		pages++
		rest, _, _ := strings.Cut(body, `" rel="next"`)
		if rest == body || pages > 10 {
			break
		}
		path = html.UnescapeString(rest[strings.LastIndex(rest, `href="`)+len(`href="`):])
	}
	if len(seen) != 450 || pages != 5 {
		t.Errorf("%d records on %d pages, want 450 on 5", len(seen), pages)
	}
	for message, n := range seen {
		if n != 1 {
			t.Errorf("%s is shown %d times", message, n)
		}
	}
	has(t, get(t, h, path), http.StatusOK, ">Newest</a>", "not data-page")
}

func TestLogsOfAJob(t *testing.T) {
	store, s := memory.New(), openLogs(t)
	j := enqueue(t, store, "mail.send", `{"to":"ada"}`, 1)[0]
	h := dash.New(dash.Config{Store: store, Logs: s})
	has(t, get(t, h, "/jobs/"+j.ID.String()), http.StatusOK, "None yet")
	for i := range 60 {
		r := at(0, "mailer", slog.LevelInfo, fmt.Sprintf("step %d.", i))
		r.Job = j.ID.String()
		write(t, s, r)
	}
	write(t, s, at(0, "mailer", slog.LevelInfo, "of another"))
	h = dash.New(dash.Config{Store: store, Logs: s})
	path := "/jobs/" + j.ID.String()
	has(t, get(t, h, path), http.StatusOK, "step 59.", "step 10.", "not step 9.", "not of another", html.EscapeString(logsPath("q", `job="`+j.ID.String()+`"`)))
	checkEscaped(t, "the stream of a job", decoded(t, read(t, h, path)))
	h = dash.New(dash.Config{Store: store, Logs: hostileLogs{err: errors.New("no answer, password=hunter2")}})
	has(t, get(t, h, path), http.StatusOK, "Not all could be found: The store returned an error: no answer, password=•••")
}

func TestNoLogs(t *testing.T) {
	h := dash.New(dash.Config{Store: memory.New()})
	has(t, get(t, h, "/logs"), http.StatusOK, "No logs are shown here", "meanwhile logs serve", "not data-page", `not href="/logs"`)
	has(t, get(t, h, "/"), http.StatusOK, `not href="/logs"`, `href="/jobs"`)
}

func TestLogsAlone(t *testing.T) {
	h := dash.New(dash.Config{Logs: openLogs(t), Prefix: "/ops"})
	if w := get(t, h, "/ops/"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/ops/logs" {
		t.Errorf("got %d to %q", w.Code, w.Header().Get("Location"))
	}
	has(t, get(t, h, "/ops/logs"), http.StatusOK, "No records yet", `href="/ops/logs"`, `not href="/ops/jobs"`)
	has(t, get(t, h, "/ops/jobs"), http.StatusNotFound, "There is no such page", `<p><a href="/ops/logs">Logs</a></p>`, `not href="/ops/jobs"`)
}

func TestLogsAreMasked(t *testing.T) {
	s := openLogs(t)
	write(t, s, at(time.Minute, "api", slog.LevelInfo, "login by ada with token=hunter2", slog.String("http.password", hush), slog.String("apiKey.id", hush),
		slog.String("url", "/?secret=hunter2"), slog.Any("body", map[string]string{"Token": hush, "user": "ada"})))
	h := dash.New(dash.Config{Store: memory.New(), Logs: s})
	for _, path := range []string{"/logs", logsPath("q", "login"), logsPath("q", "number=1")} {
		has(t, get(t, h, path), http.StatusOK, "not "+hush, "•••", "ada", "f-info")
		if events := read(t, h, path); strings.Contains(events, hush) {
			t.Errorf("the stream of %s has the secret", path)
		}
	}
	// Searching and counting reveal nothing.
	for _, q := range []string{hush, "hunt*", "message~token=h", "url~hunter", "url~secret=h", `body~hunter`, "-" + hush + " hunter2", "level=info " + hush} {
		has(t, get(t, h, logsPath("q", q)), http.StatusOK, "No record matches", "not f-info", "not "+hush+"</")
	}
	has(t, get(t, dash.New(dash.Config{Logs: s, Mask: []string{}}), logsPath("q", hush)), http.StatusOK, "token=hunter2", "f-info")
}

// hostileLogs has evil in each field whose value may come from elsewhere, or fails.
type hostileLogs struct {
	err    error
	finds  *atomic.Int64
	counts *atomic.Int64
}

func (h hostileLogs) Find(context.Context, storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if h.finds != nil {
			h.finds.Add(1)
		}
		if h.err != nil {
			yield(logs.Record{}, h.err)
			return
		}
		yield(logs.Record{
			Time: time.Now(), Service: evil, Message: evil + "\x1b[31m\u202e", Task: evil, Job: evil, Number: 1,
			Attrs: []slog.Attr{slog.String(evil, evil), slog.Any("json", []byte(evil))},
		}, nil)
	}
}

func (h hostileLogs) Follow(ctx context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return h.Find(ctx, q)
}

func (h hostileLogs) Histogram(_ context.Context, q storage.Query, n int) (storage.Histogram, error) {
	if h.counts != nil {
		h.counts.Add(1)
	}
	return storage.Histogram{Since: q.Since, Until: q.Until, Buckets: make([]storage.Bucket, n), Partial: true}, h.err
}

func (h hostileLogs) Services(context.Context) ([]storage.ServiceStats, error) {
	return []storage.ServiceStats{{Service: evil}}, nil
}

func TestLogsEscaping(t *testing.T) {
	store := memory.New()
	id := enqueue(t, store, "mail", `1`, 1)[0].ID.String()
	h := dash.New(dash.Config{Store: store, Logs: hostileLogs{}})
	for _, path := range []string{
		"/logs", logsPath("service", evil, "level", evil), logsPath("q", evil), logsPath("q", `"alert"`, "service", evil), logsPath("since", evil), logsPath("before", evil), "/jobs/" + id,
	} {
		w := get(t, h, path)
		checkEscaped(t, path, w.Body.String())
		if strings.ContainsAny(w.Body.String(), "\x1b\u202e") {
			t.Errorf("%s has control characters", path)
		}
		if w.Code == http.StatusOK {
			checkEscaped(t, "the stream of "+path, decoded(t, read(t, h, path)))
		}
	}
	has(t, get(t, h, "/logs"), http.StatusOK, `\u001b[31m\u202e`, "some are not counted")
	h = dash.New(dash.Config{Logs: hostileLogs{err: errors.New("token=hunter2 <b>")}})
	has(t, get(t, h, "/logs"), http.StatusServiceUnavailable, "token=••• &lt;b&gt;")
}

// growing is a finder to which a test adds records.
type growing struct {
	hostileLogs
	mu      sync.Mutex
	records []logs.Record
}

func (g *growing) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for range n {
		i := uint64(len(g.records)) + 1
		g.records = append(g.records, logs.Record{Time: time.Now(), Service: "api", Message: fmt.Sprintf("message %d.", i), Number: i})
	}
}

func (g *growing) Find(_ context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		g.finds.Add(1)
		g.mu.Lock()
		all := g.records
		g.mu.Unlock()
		for i := len(all) - 1; i >= max(0, len(all)-q.Limit); i-- {
			if !yield(all[i], nil) {
				return
			}
		}
	}
}

// TestLiveLogs: fifty readers of the same records cost as much as one, and receive only new records.
func TestLiveLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &growing{hostileLogs: hostileLogs{finds: new(atomic.Int64), counts: new(atomic.Int64)}}
		g.add(200)
		h := dash.New(dash.Config{Logs: g})
		var readers []*reader
		for range 50 {
			readers = append(readers, open(t, h, "/logs", 0))
		}
		synctest.Wait()
		first := len(readers[0].events())
		for range 10 {
			time.Sleep(time.Second)
			g.add(3)
		}
		time.Sleep(1500 * time.Millisecond)
		if n := g.finds.Load(); n < 10 || n > 13 {
			t.Errorf("records were searched %d times in 11 s for 50 readers", n)
		}
		if n := g.counts.Load(); n > 14 {
			t.Errorf("records were counted %d times in 11 s for 50 readers", n)
		}
		for _, r := range readers {
			news := r.events()[first:]
			if rows := strings.Count(news, "data-id="); rows != 30 || strings.Count(news, "message 230.") != 1 || strings.Count(news, `"rows+"`) < 5 {
				t.Fatalf("got %d rows for 30 records: %.2000s", rows, news)
			}
		}
		g.add(500) // more than fit on a page
		time.Sleep(2 * time.Second)
		if news := readers[0].events()[first:]; strings.Count(news, `"rows":`) != 1 || strings.Count(news, "message 730.") != 1 || strings.Contains(news, "message 630.") {
			t.Errorf("many at once: got %.2000s", news)
		}
	})
}

// TestLogsLate: a search that takes too long is reported, and the records found by then are shown.
func TestLogsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Logs: slowLogs{}})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/logs?q=rare", nil))
		has(t, w, http.StatusOK, "one rare", "The search took longer than 3.0 s", "some are not counted")
	})
}

type slowLogs struct{ hostileLogs }

func (slowLogs) Find(ctx context.Context, _ storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if yield(logs.Record{Time: time.Now(), Service: "api", Message: "one rare", Number: 1}, nil) {
			<-ctx.Done()
			yield(logs.Record{}, context.Cause(ctx))
		}
	}
}

// A brokenFinder knows its services, and fails to find and to count records.
type brokenFinder struct {
	storage.Finder
	findErr, countErr error
}

func (f brokenFinder) Services(context.Context) ([]storage.ServiceStats, error) { return nil, nil }

func (f brokenFinder) Find(context.Context, storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if f.findErr != nil {
			yield(logs.Record{}, f.findErr)
		}
	}
}

func (f brokenFinder) Histogram(context.Context, storage.Query, int) (storage.Histogram, error) {
	return storage.Histogram{}, f.countErr
}

// TestLogsFailForViewers: the error of a log store may name hosts, so viewers do not see it, also if others have loaded the page before.
func TestLogsFailForViewers(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID.String()
	refused := errors.New("dial tcp logs.internal:6768: connection refused")
	viewer := false
	readOnly := func(*http.Request) bool { return viewer }
	for _, test := range []struct {
		path, shown string
		finder      brokenFinder
	}{
		{"/logs", "The records could not be counted: ", brokenFinder{countErr: refused}},
		{"/jobs/" + id, "Not all could be found: ", brokenFinder{findErr: refused}},
	} {
		h := dash.New(dash.Config{Store: s, Logs: test.finder, ReadOnly: readOnly})
		viewer = false
		has(t, get(t, h, test.path), http.StatusOK, test.shown, "logs.internal:6768")
		viewer = true
		has(t, get(t, h, test.path), http.StatusOK, test.shown+"The store does not answer", "not logs.internal")
	}
}
