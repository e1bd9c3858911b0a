package dash_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// get asks a dashboard for a page.
func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// post submits a form as a page of the dashboard does.
func post(t *testing.T, h http.Handler, path string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	return send(t, h, path, "same-origin", fields...)
}

func send(t *testing.T, h http.Handler, path, site string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// enqueue enqueues n jobs of a kind, and returns them.
func enqueue(t *testing.T, s job.Store, kind, args string, n int, opts ...job.EnqueueOption) []*job.Job {
	t.Helper()
	var jobs []*job.Job
	for range n {
		j, err := job.New(kind, json.RawMessage(args), opts...)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	if _, err := job.Insert(t.Context(), s, jobs...); err != nil {
		t.Fatal(err)
	}
	return jobs
}

// settle claims a job and settles it with the outcome that change sets.
func settle(t *testing.T, s job.Store, queue string, change func(*job.Job)) *job.Job {
	t.Helper()
	claimed, err := s.Claim(t.Context(), job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: queue, Limit: 1}}, Limit: 1, Lease: time.Minute})
	if err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("claimed %d jobs: %v", len(claimed.Jobs), err)
	}
	j := claimed.Jobs[0]
	change(j)
	if _, err := s.Settle(t.Context(), 1, job.Outcomes(j)...); err != nil {
		t.Fatal(err)
	}
	return j
}

func find(t *testing.T, s job.Store, id job.ID) *job.Job {
	t.Helper()
	j, err := job.Find(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// has checks that a page contains the texts, and does not contain those after "not ".
func has(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	body := w.Body.String()
	_, shown, _ := strings.Cut(body, "<main")
	if w.Code != status {
		t.Errorf("got status %d, want %d: %.600s", w.Code, status, shown)
	}
	for _, text := range texts {
		not, without := strings.CutPrefix(text, "not ")
		if without {
			text = not
		}
		if strings.Contains(body, text) == without {
			t.Errorf("the page has %q: %t, want %t\n%.1500s", text, without, !without, shown)
		}
	}
}

var allPages = []string{"/", "/jobs", "/failures", "/queues", "/workers", "/crons", "/audit"}

func TestPages(t *testing.T) {
	s := memory.New()
	ran := enqueue(t, s, "mail.send", `{"to":"ada"}`, 1)[0]
	settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State = job.Completed })
	h := dash.New(dash.Config{Store: s, Title: "shop", Version: "1.2.3"})
	for _, path := range append(allPages, "/jobs/"+ran.ID.String(), "/jobs/action?action=retry&all=1", "/nothing") {
		w := get(t, h, path)
		status := http.StatusOK
		if path == "/nothing" {
			status = http.StatusNotFound
		}
		has(t, w, status, "<title>", "· shop</title>", "1.2.3", "not <script>", "not style=", "not onclick", "not http://", "not https://", "not ZgotmplZ")
		checkHeaders(t, path, w.Header())
	}
	for _, path := range []string{"/static/dash.css", "/static/dash.js", "/static/icon.svg"} {
		w := get(t, h, path)
		checkHeaders(t, path, w.Header())
		if w.Code != http.StatusOK || w.Body.Len() < 100 {
			t.Errorf("%s: status %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
}

func checkHeaders(t *testing.T, path string, header http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", path, name, got, want)
		}
	}
}

func TestEmpty(t *testing.T) {
	h := dash.New(dash.Config{Store: memory.New()})
	for path, want := range map[string]string{
		"/": "Nothing. No queue is behind", "/jobs": "No jobs yet", "/jobs?kind=x": "No job matches", "/queues": "No queues",
		"/workers": "No workers", "/crons": "No crons",
	} {
		has(t, get(t, h, path), http.StatusOK, want)
	}
	has(t, get(t, h, "/jobs/"+job.NewID().String()), http.StatusNotFound, "There is no such job")
	has(t, get(t, h, "/jobs/7"), http.StatusNotFound, "&#34;7&#34; is not a job ID")
}

func TestPrefix(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `1`, 1)[0].ID.String()
	h := dash.New(dash.Config{Store: s, Prefix: "/admin/jobs/"})
	w := get(t, h, "/admin/jobs")
	if got := w.Header().Get("Location"); w.Code != http.StatusMovedPermanently || got != "/admin/jobs/" {
		t.Errorf("got status %d to %q", w.Code, got)
	}
	has(t, get(t, h, "/admin/jobs/jobs"), http.StatusOK, `href="/admin/jobs/jobs/`+id+`"`, `src="/admin/jobs/static/dash.js?v=`, `data-page="/admin/jobs/jobs"`, `not href="/jobs`)
	has(t, get(t, h, "/jobs"), http.StatusNotFound, `mounted below "/admin/jobs"`, "set Prefix in dash.Config")
	has(t, get(t, h, "/admin/jobsters"), http.StatusNotFound, "set Prefix in dash.Config")
	w = post(t, h, "/admin/jobs/jobs/action", "action", "cancel", "id", id, "back", "/jobs?kind=mail")
	if got := w.Header().Get("Location"); !strings.HasPrefix(got, "/admin/jobs/jobs?") {
		t.Errorf("redirects to %q", got)
	}
}

func TestMountedAnywhere(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/ops/", dash.New(dash.Config{Store: memory.New(), Prefix: "ops"}))
	server := httptest.NewServer(mux)
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/ops/queues")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "No queues") {
		t.Errorf("%v: %s %.200s", err, answer.Status, body)
	}
}

// A failing store fails in the selected methods.
type failing struct {
	job.Store
	err error
}

func (f failing) Counts(context.Context) ([]job.Count, error) { return nil, f.err }

// A hanging store never returns.
type hanging struct{ *memory.Store }

func (hanging) Counts(ctx context.Context) ([]job.Count, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestStoreFails(t *testing.T) {
	h := dash.New(dash.Config{Store: failing{memory.New(), job.ErrNoSchema}})
	has(t, get(t, h, "/jobs"), http.StatusServiceUnavailable, "The store returned an error: ", "migrate it")
	refused := errors.New("dial tcp db.internal:5432: connection refused")
	has(t, get(t, dash.New(dash.Config{Store: failing{memory.New(), refused}}), "/jobs"), http.StatusServiceUnavailable, "db.internal:5432")
	viewer := dash.New(dash.Config{Store: failing{memory.New(), refused}, ReadOnly: func(*http.Request) bool { return true }})
	has(t, get(t, viewer, "/jobs"), http.StatusServiceUnavailable, "The store does not answer", "not 5432")
	h = dash.New(dash.Config{Store: failing{memory.New(), context.DeadlineExceeded}})
	has(t, get(t, h, "/jobs"), http.StatusServiceUnavailable, "The store did not answer in time. Try again.", "not Narrow")
}

// TestStoreHangs: a page waits for some seconds, and not at all for a search without criteria.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: hanging{memory.New()}})
		begun := time.Now()
		has(t, get(t, h, "/jobs"), http.StatusServiceUnavailable, "The store did not answer in time. Try again.")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the page took %v", took)
		}
	})
}

func TestNoStore(t *testing.T) {
	defer func() {
		if got, want := recover(), "dash: New: Config.Store is nil, and so is Logs: give the store whose jobs, or the finder whose records are to be shown"; got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	dash.New(dash.Config{})
}

func TestTheme(t *testing.T) {
	h := dash.New(dash.Config{Store: memory.New()})
	w := post(t, h, "/theme", "theme", "dark", "back", "/jobs?kind=x")
	cookie := w.Header().Get("Set-Cookie")
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/jobs?kind=x" || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("status %d to %q with %q", w.Code, got, cookie)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", cookie)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	has(t, w, http.StatusOK, `<html lang="en" data-theme="dark">`)
	for _, back := range []string{"https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "evil", "/a\r\nSet-Cookie: x=1"} {
		if got := post(t, h, "/theme", "back", back).Header().Get("Location"); got != "/" {
			t.Errorf("back %q redirects to %q", back, got)
		}
	}
}

// TestProgress: the bar shows the completed part, even of numbers that overflow an int64 when multiplied by a thousand.
func TestProgress(t *testing.T) {
	tests := []struct {
		done, total int64
		want        string
	}{
		{1, 4, `max="1000" value="250"`},
		{29, 100, `max="1000" value="290"`},
		{9, 3, `max="1000" value="1000"`},
		{-1, 3, `max="1000" value="0"`},
		{20_000_000_000_000_000, 40_000_000_000_000_000, `max="1000" value="500"`},
		{math.MaxInt64 / 4, math.MaxInt64, `max="1000" value="250"`},
		{math.MaxInt64, math.MaxInt64, `max="1000" value="1000"`},
		{7, 0, `<progress  aria-label`},
	}
	s := memory.New()
	h := dash.New(dash.Config{Store: s})
	for _, test := range tests {
		enqueue(t, s, "feed.import", `{}`, 1)
		j := settle(t, s, job.DefaultQueue, func(j *job.Job) {
			j.State, j.Progress = job.Completed, &job.ProgressReport{Done: test.done, Total: test.total, Time: time.Now()}
		})
		w := get(t, h, "/jobs/"+j.ID.String())
		if has(t, w, http.StatusOK); !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%d of %d: no %s in %s", test.done, test.total, test.want, regexp.MustCompile(`<progress[^>]*>`).FindString(w.Body.String()))
		}
	}
}
