package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// ask sends a request. A body that is not empty is JSON.
func ask(h http.Handler, method, path, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	w, _ := send(h, method, path, body, edits...)
	return w
}

func send(h http.Handler, method, path, body string, edits ...func(*http.Request)) (*httptest.ResponseRecorder, *http.Request) {
	r := httptest.NewRequest(method, "http://jobs.example"+api.Prefix+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, r
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

var ndjson = header("Content-Type", "application/x-ndjson")

// read decodes the body of an answer.
func read[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	var value T
	if w.Code != status {
		t.Fatalf("got %d %s, want %d", w.Code, w.Body, status)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return value
}

type enqueued struct {
	ID        job.ID
	Duplicate bool
}

type page struct {
	Jobs []struct {
		ID          job.ID
		Kind, Queue string
		Args        json.RawMessage
		State, View job.State
		Priority    int
		MaxAttempts int       `json:"max_attempts"`
		UniqueKey   string    `json:"unique_key"`
		UniqueFor   float64   `json:"unique_for"`
		RunAt       time.Time `json:"run_at"`
	}
	Next string
}

func TestEnqueueAndList(t *testing.T) {
	h := api.New(api.Config{Store: memory.New()})
	one := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"mail.send","args":{"user":7,"big":12345678901234567890},"queue":"mail","priority":9,
		"max_attempts":3,"delay":"1h","unique_key":"7","unique_for":90}`), 201)
	again := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"mail.send","unique_key":"7"}`), 200)
	if one.Duplicate || !again.Duplicate || again.ID != one.ID {
		t.Errorf("got %+v, then %+v", one, again)
	}
	got := read[page](t, ask(h, "GET", "/jobs?kind=mail.send&args=user=7&state=scheduled&queue=mail&unique_key=mail.send+7", ""), 200)
	if len(got.Jobs) != 1 {
		t.Fatalf("got %+v, want one job", got)
	}
	j := got.Jobs[0]
	if j.ID != one.ID || string(j.Args) != `{"user":7,"big":12345678901234567890}` || j.State != job.Queued || j.View != job.Scheduled ||
		j.Priority != 9 || j.MaxAttempts != 3 || j.UniqueFor != 90 || time.Until(j.RunAt) < 59*time.Minute {
		t.Errorf("got %+v", j)
	}
	for range 4 {
		read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k","args":{"n":1},"run_at":"2030-01-31T15:04:05+02:00"}`), 201)
	}
	seen, next := 0, ""
	for pages := 1; ; pages++ {
		got := read[page](t, ask(h, "GET", "/jobs?limit=2&before="+next, ""), 200)
		seen += len(got.Jobs)
		if next = got.Next; next == "" {
			if pages != 3 || seen != 5 {
				t.Errorf("%d jobs on %d pages, want 5 on 3", seen, pages)
			}
			break
		}
	}
}

func TestKindsThatAreChecked(t *testing.T) {
	h := api.New(api.Config{Store: memory.New(), New: func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error) {
		if kind != "known" {
			return nil, fmt.Errorf("there is no kind %q", kind)
		}
		return job.New(kind, args, opts...)
	}})
	ask(h, "POST", "/jobs", `{"kind":"known"}`)
	if w := ask(h, "POST", "/jobs", `{"kind":"other"}`); w.Code != 422 || !strings.Contains(w.Body.String(), `there is no kind \"other\"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestBulk(t *testing.T) {
	h := api.New(api.Config{Store: memory.New()})
	lines := strings.Repeat(`{"kind":"k"}`+"\n\n", 2500)
	got := read[map[string]int](t, ask(h, "POST", "/jobs/bulk", lines+`{"kind":"k","unique_args":true}`+"\n"+`{"kind":"k","unique_args":true}`, ndjson), 200)
	if got["enqueued"] != 2501 || got["duplicates"] != 1 {
		t.Errorf("got %v", got)
	}
	for _, test := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"kind":"k"}` + "\n\n" + `{"kind":"k","typo":1}`, 400, `"detail":"line 3: unknown field \"typo\"","duplicates":0,"enqueued":1,"line":3`},
		{`{"kind":"k"}` + "\n" + `{"kind":""}`, 422, `"detail":"line 2: the name of the kind is empty","duplicates":0,"enqueued":1,"line":2`},
		{`{"kind":"` + strings.Repeat("x", 2<<20) + `"}`, 413, `"detail":"line 1: it has more than 1114112 bytes"`},
		{"\n", 200, `"enqueued":0`},
	} {
		if w := ask(h, "POST", "/jobs/bulk", test.body, ndjson); w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%.60s: got %d %s, want %d %s", test.body, w.Code, w.Body, test.status, test.want)
		}
	}
}

func TestBulkIsBounded(t *testing.T) {
	testenv.LongTest(t)
	h := api.New(api.Config{Store: memory.New()})
	w := ask(h, "POST", "/jobs/bulk", strings.Repeat(`{"kind":"k"}`+"\n", 100_001), ndjson)
	if want := `"detail":"line 100001: more than 100000 jobs in one request","duplicates":0,"enqueued":100000`; w.Code != 413 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want 413 %s", w.Code, w.Body, want)
	}
}

func TestActions(t *testing.T) {
	h := api.New(api.Config{Store: memory.New()})
	for i := range 300 {
		read[enqueued](t, ask(h, "POST", "/jobs", fmt.Sprintf(`{"kind":"k","args":{"n":%d}}`, i%3)), 201)
	}
	apply := func(body string) job.ActionResult {
		t.Helper()
		return read[job.ActionResult](t, ask(h, "POST", "/actions", body), 200)
	}
	count := func(query string, want int) {
		t.Helper()
		if got := len(read[page](t, ask(h, "GET", "/jobs?limit=200&"+query, ""), 200).Jobs); got != want {
			t.Errorf("%s: %d jobs, want %d", query, got, want)
		}
	}
	if got := apply(`{"action":"move","queue":"other","filter":{"args":["n=1"],"state":["queued"]}}`); got.Changed != 100 {
		t.Errorf("move: %+v", got)
	}
	count("queue=other", 100)
	if got := apply(`{"action":"cancel","filter":{"queue":["other"]},"limit":30}`); got.Changed != 30 {
		t.Errorf("cancel with a limit: %+v", got)
	}
	count("state=canceled", 30)
	if got := apply(`{"action":"schedule","delay":3600,"filter":{"queue":["other"]}}`); got != (job.ActionResult{Changed: 70, Skipped: 30}) {
		t.Errorf("schedule: %+v", got)
	}
	count("state=scheduled", 70)
	if got := apply(`{"action":"delete","all":true}`); got.Changed != 300 {
		t.Errorf("delete all: %+v", got)
	}
	count("", 0)
}

// TestActionByMaskedError: an action finds the jobs that a list with the same part of an error shows: masked values reveal themselves in neither.
func TestActionByMaskedError(t *testing.T) {
	store := memory.New()
	h := api.New(api.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	for range 450 {
		read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k"}`), 201)
	}
	claimed, err := store.Claim(t.Context(), job.Claim{
		Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 450}}, Limit: 450, Lease: time.Minute,
	})
	if err != nil || len(claimed.Jobs) != 450 {
		t.Fatalf("%d jobs are claimed: %v", len(claimed.Jobs), err)
	}
	for _, j := range claimed.Jobs {
		j.State, j.Failures = job.Discarded, []job.Failure{{Error: "refused: password=hunter2 of ada"}}
	}
	if _, err := store.Settle(t.Context(), 1, job.Outcomes(claimed.Jobs...)...); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		part    string
		limit   int
		skipped int
	}{{"hunt", 450, 0}, {"hunx", 450, 0}, {"refused", 450, 450}, {"OF ADA", 201, 201}} {
		listed := read[page](t, ask(h, "GET", "/jobs?error="+url.QueryEscape(test.part), ""), 200)
		body := fmt.Sprintf(`{"action":"discard","filter":{"error":%q},"limit":%d}`, test.part, test.limit)
		got := read[job.ActionResult](t, ask(h, "POST", "/actions", body), 200)
		if want := (job.ActionResult{Skipped: test.skipped}); got != want || (len(listed.Jobs) > 0) != (test.skipped > 0) {
			t.Errorf("%s: %d jobs are listed, and the action returns %+v, want %+v", test.part, len(listed.Jobs), got, want)
		}
	}
	got := read[job.ActionResult](t, ask(h, "POST", "/actions", `{"action":"delete","filter":{"error":"refused","state":["discarded"]}}`), 200)
	if got.Changed != 450 {
		t.Errorf("got %+v, want all 450 jobs deleted", got)
	}
}

func TestMask(t *testing.T) {
	store := memory.New()
	j, err := job.New("k", json.RawMessage(`{"user":1,"a":[{"API-Key":"s3cr3t"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Insert(t.Context(), store, j); err != nil {
		t.Fatal(err)
	}
	fail(t, store, "GET /?token=s3cr3t: 500")
	shown := ask(api.New(api.Config{Store: store}), "GET", "/jobs/"+j.ID.String(), "").Body.String()
	if strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, `"API-Key":"•••"`) || !strings.Contains(shown, "token=•••") {
		t.Errorf("the job is shown unmasked, or not at all: %s", shown)
	}
	plain := api.New(api.Config{Store: store, Mask: []string{}})
	if shown := ask(plain, "GET", "/jobs/"+j.ID.String(), "").Body.String(); strings.Count(shown, "s3cr3t") != 2 {
		t.Errorf("without a mask the job is shown as %s", shown)
	}
	if w := ask(api.New(api.Config{Store: store}), "GET", "/jobs?args=a.0.api_key=s3cr3t", ""); w.Code != 422 || !strings.Contains(w.Body.String(), "is masked") {
		t.Errorf("a search for a masked value: %d %s", w.Code, w.Body)
	}
	for _, query := range []string{`args=a={"0":[{"b":1,"api_key":2}]}`, `args=a.0={"API-Key":"s3cr3t"}`, `args=a=[{"API-Key":"s3cr3t"}]`} {
		path, value, _ := strings.Cut(query, "=")
		if w := ask(api.New(api.Config{Store: store}), "GET", "/jobs?"+path+"="+url.QueryEscape(value), ""); w.Code != 422 || !strings.Contains(w.Body.String(), "is masked") {
			t.Errorf("a search for an object with a masked value, %s: %d %s", query, w.Code, w.Body)
		}
	}
	for part, want := range map[string]int{"TOKEN=": 1, "500": 1, "token=s": 0, "s3cr3t": 0} {
		h := api.New(api.Config{Store: store})
		if got := read[page](t, ask(h, "GET", "/jobs?limit=1&error="+url.QueryEscape(part), ""), 200); len(got.Jobs) != want {
			t.Errorf("a search for the error %q finds %d jobs, want %d", part, len(got.Jobs), want)
		}
	}
	if got := read[page](t, ask(plain, "GET", "/jobs?error=token%3Ds3", ""), 200); len(got.Jobs) != 1 {
		t.Errorf("a search for an error that is not masked: %+v", got)
	}
	if got := read[page](t, ask(plain, "GET", "/jobs?args=a.0.API-Key=s3cr3t", ""), 200); len(got.Jobs) != 1 {
		t.Errorf("a search for a value that is not masked: %+v", got)
	}
}

// fail claims the jobs of the default queue, and writes a failed attempt.
func fail(t *testing.T, store job.Store, text string) {
	t.Helper()
	got, err := store.Claim(t.Context(), job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: 10}}, Limit: 10, Lease: time.Hour})
	if err != nil || len(got.Jobs) == 0 {
		t.Fatalf("claim: %+v, %v", got, err)
	}
	for _, j := range got.Jobs {
		now := time.Now()
		j.Failures = append(j.Failures, job.Failure{Attempt: j.Attempt, Started: now, Time: now, Worker: "w", Error: text})
		j.State = job.Queued
	}
	if lost, err := store.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle: %v, %v", lost, err)
	}
}

func TestReadOnlyAndOtherOrigins(t *testing.T) {
	store := memory.New()
	h := api.New(api.Config{Store: store, ReadOnly: func(r *http.Request) bool { return r.Header.Get("Role") == "viewer" }})
	id := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k"}`), 201).ID.String()
	for _, write := range [][3]string{
		{"POST", "/jobs", `{"kind":"k"}`},
		{"POST", "/jobs/bulk", `{"kind":"k"}`},
		{"POST", "/jobs/" + id + "/cancel", ""},
		{"DELETE", "/jobs/" + id, ""},
		{"POST", "/actions", `{"action":"delete","all":true}`},
		{"POST", "/queues/default/pause", ""},
		{"POST", "/crons/c/pause", ""},
	} {
		for what, edit := range map[string]func(*http.Request){
			"you may look": header("Role", "viewer"), "another origin": header("Sec-Fetch-Site", "cross-site"), "origin": header("Origin", "https://evil.example"),
		} {
			if w := ask(h, write[0], write[1], write[2], edit); w.Code != 403 || !strings.Contains(w.Body.String(), what) {
				t.Errorf("%v: got %d %s, want 403 %s", write, w.Code, w.Body, what)
			}
		}
	}
	if w := ask(h, "GET", "/jobs", "", header("Role", "viewer")); w.Code != 200 {
		t.Errorf("a viewer who looks: %d", w.Code)
	}
	if got := read[page](t, ask(h, "GET", "/jobs", ""), 200); len(got.Jobs) != 1 || got.Jobs[0].State != job.Queued {
		t.Errorf("a refused request changed something: %+v", got)
	}
}

// A broken store fails with an error that clients must not see.
type broken struct{ *memory.Store }

func (broken) Counts(context.Context) ([]job.Count, error) {
	return nil, fmt.Errorf("connect to db7.internal as app: refused")
}

// TestPageOfLargeFailures: the failures of jobs are longer than everything that clients have sent.
func TestPageOfLargeFailures(t *testing.T) {
	testenv.LongTest(t)
	store := memory.New()
	h := api.New(api.Config{Store: store})
	const jobs = 10
	for range jobs {
		read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k"}`), 201)
	}
	for range 3 {
		fail(t, store, strings.Repeat("x", 1<<20))
	}
	seen := 0
	for next := ""; ; {
		w := ask(h, "GET", "/jobs?limit=200"+next, "")
		if n := w.Body.Len(); n > 20<<20 {
			t.Errorf("a page has %d bytes", n)
		}
		got := read[page](t, w, 200)
		seen += len(got.Jobs)
		if got.Next == "" {
			break
		}
		next = "&before=" + got.Next
	}
	if seen != jobs {
		t.Errorf("the pages have %d jobs, want %d", seen, jobs)
	}
}
