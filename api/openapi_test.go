package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func readDescription(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestRoutes compares the routes of the mux with those of the description.
func TestRoutes(t *testing.T) {
	var ours, described []string
	for _, r := range New(Config{Store: memory.New()}).routes() {
		ours = append(ours, r.method+" "+r.path)
	}
	for path, item := range readDescription(t).Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(ours)
	slices.Sort(described)
	if !slices.Equal(ours, described) {
		t.Errorf("the API has\n%s\nand describes\n%s", strings.Join(ours, "\n"), strings.Join(described, "\n"))
	}
}

// A described API checks its requests and answers against the description, and records which it has seen.
type described struct {
	*API
	doc  *openapi3.T
	seen map[string]bool
}

func (d *described) ask(t *testing.T, method, path, body string, status int, headers ...string) string {
	t.Helper()
	r := httptest.NewRequest(method, Prefix+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	_, pattern := d.mux.Handler(r)
	template := strings.TrimPrefix(pattern, method+" "+Prefix)
	item := d.doc.Paths.Value(template)
	if item == nil {
		t.Fatalf("%s %s: %q is not described", method, path, pattern)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if w.Code != status {
		t.Fatalf("%s %s %.80s: got %d %s, want %d", method, path, body, w.Code, w.Body, status)
	}
	d.seen[method+" "+template+" "+strconv.Itoa(status)] = true

	request := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params(template, strings.Split(path, "?")[0]), QueryParams: r.URL.Query(),
		Route:   &routers.Route{Spec: d.doc, Path: template, PathItem: item, Method: method, Operation: item.GetOperation(method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if status < 300 {
		r.Body = io.NopCloser(strings.NewReader(body))
		if err := openapi3filter.ValidateRequest(t.Context(), request); err != nil {
			t.Errorf("%s %s %s: was accepted, but is not as described: %v", method, path, body, err)
		}
	}
	answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: status, Header: w.Header(), Options: request.Options}
	answer.SetBodyBytes(w.Body.Bytes())
	if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil {
		t.Errorf("%s %s: the answer is not as described: %v\n%s", method, path, err, w.Body)
	}
	return w.Body.String()
}

// params returns the parameters in a path.
func params(template, path string) map[string]string {
	found := map[string]string{}
	values := strings.Split(path, "/")
	for i, part := range strings.Split(template, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			found[strings.TrimSuffix(name, "}")] = values[i]
		}
	}
	return found
}

func asText(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	text, err := io.ReadAll(body)
	return string(text), err
}

// TestDescription makes a request for each status in the description, and validates each answer.
func TestDescription(t *testing.T) {
	for _, media := range []string{"application/x-ndjson", "text/event-stream", "application/yaml"} {
		openapi3filter.RegisterBodyDecoder(media, asText)
		defer openapi3filter.UnregisterBodyDecoder(media)
	}
	ctx := t.Context()
	store := memory.New()
	d := &described{New(Config{Store: store, ReadOnly: func(r *http.Request) bool { return r.Header.Get("Viewer") != "" }}), readDescription(t), map[string]bool{}}
	viewer := []string{"Viewer", "yes"}
	lines := []string{"Content-Type", "application/x-ndjson"}
	plain := []string{"Content-Type", "text/plain"}
	huge := `{"kind":"` + strings.Repeat("x", mostOne) + `"}`

	d.ask(t, "POST", "/jobs", `{"kind":"k","args":{"n":1},"queue":"q","priority":1,"max_attempts":2,"delay":0,"unique_key":"u","unique_for":"1h"}`, 201)
	d.ask(t, "POST", "/jobs", `{"kind":"k","unique_key":"u"}`, 200)
	d.ask(t, "POST", "/jobs", `{"kind":"k","unique_key":"u","unique_while":["queued","running"],"replace":true}`, 200)
	d.ask(t, "POST", "/jobs", `{"kind":"k","debounce":{"key":"d","delay":"1h","within":"2h"}}`, 201)
	d.ask(t, "POST", "/jobs", `{"kind":"k","debounce":{"key":"d","delay":"1h","within":"2h"}}`, 200)
	d.ask(t, "POST", "/jobs", `{"kind":"k","run_at":"2030-01-01T00:00:00Z","unique_args":true}`, 201)
	d.ask(t, "POST", "/jobs", `{`, 400)
	d.ask(t, "POST", "/jobs", `{"kind":"k"}`, 403, viewer...)
	d.ask(t, "POST", "/jobs", huge, 413)
	d.ask(t, "POST", "/jobs", `{}`, 415, plain...)
	d.ask(t, "POST", "/jobs", `{"kind":""}`, 422)

	d.ask(t, "POST", "/jobs/bulk", "{\"kind\":\"k\",\"unique_args\":[\"a\"],\"args\":{\"a\":1}}\n{\"kind\":\"k\"}", 200, lines...)
	d.ask(t, "POST", "/jobs/bulk", `{`, 400, lines...)
	d.ask(t, "POST", "/jobs/bulk", `{}`, 403, append(viewer, lines...)...)
	d.ask(t, "POST", "/jobs/bulk", huge, 413, lines...)
	d.ask(t, "POST", "/jobs/bulk", `{}`, 415, plain...)
	d.ask(t, "POST", "/jobs/bulk", `{"kind":""}`, 422, lines...)

	running, done := everything(ctx, t, store)
	d.ask(t, "GET", "/jobs?limit=2&state=queued&state=running&args=n=1&worker=w&error=b", "", 200)
	if page := d.ask(t, "GET", "/jobs", "", 200); !strings.Contains(page, `"records":`) || !strings.Contains(page, `"progress":`) || !strings.Contains(page, `"failures":`) {
		t.Errorf("the page lacks something that a job can have: %s", page)
	}
	d.ask(t, "GET", "/jobs?limit=1", "", 200)
	d.ask(t, "GET", "/jobs?x=1", "", 400)
	d.ask(t, "GET", "/jobs?error="+strings.Repeat("x", mostQuery), "", 414)
	d.ask(t, "GET", "/jobs?limit=x", "", 422)

	id, none := running.String(), job.NewID().String()
	d.ask(t, "GET", "/jobs/"+id, "", 200)
	d.ask(t, "GET", "/jobs/"+none, "", 404)
	d.ask(t, "DELETE", "/jobs/"+id, "", 403, viewer...)
	d.ask(t, "DELETE", "/jobs/"+id, "", 409)
	d.ask(t, "DELETE", "/jobs/"+none, "", 404)
	d.ask(t, "POST", "/jobs/"+id+"/cancel", "", 200)
	d.ask(t, "POST", "/jobs/"+id+"/cancel", "{", 400)
	d.ask(t, "POST", "/jobs/"+id+"/cancel", "", 403, viewer...)
	d.ask(t, "POST", "/jobs/"+none+"/cancel", "", 404)
	d.ask(t, "POST", "/jobs/"+id+"/discard", "", 409)
	d.ask(t, "POST", "/jobs/"+id+"/move", "x", 415, plain...)
	d.ask(t, "POST", "/jobs/"+id+"/move", "{}", 422)

	d.ask(t, "DELETE", "/jobs/"+done.String(), "", 204)

	d.ask(t, "POST", "/actions", `{"action":"schedule","delay":"1m","filter":{"kind":["k"],"state":["queued"],"args":["n=1"]},"limit":5}`, 200)
	d.ask(t, "POST", "/actions", `{"action":"priority","priority":9,"all":true}`, 200)
	d.ask(t, "POST", "/actions", `{"action":1}`, 400)
	d.ask(t, "POST", "/actions", `{"action":"retry","all":true}`, 403, viewer...)
	d.ask(t, "POST", "/actions", huge, 413)
	d.ask(t, "POST", "/actions", `{}`, 415, plain...)
	d.ask(t, "POST", "/actions", `{"action":"retry"}`, 422)

	d.ask(t, "POST", "/queues/q/pause", "", 204)
	d.ask(t, "POST", "/queues/q/resume", "", 403, viewer...)
	d.ask(t, "POST", "/queues/q/stop", "", 404)
	d.ask(t, "POST", "/queues/a%20b/pause", "", 422)
	if queues := d.ask(t, "GET", "/queues", "", 200); !strings.Contains(queues, `"paused":true`) {
		t.Errorf("the queue is not paused: %s", queues)
	}
	d.ask(t, "PUT", "/queues/q/limits", `{"running":2,"starts":{"n":5,"per":"1m","burst":3},"units":{"n":90000,"per":"1m"},"each_key":{"running":1,"starts":{"n":1,"per":60},"units":{"n":9,"per":1,"burst":2}}}`, 204)
	d.ask(t, "PUT", "/queues/ordered/limits", `{"each_key":{"in_order":true}}`, 204)
	if refused := d.ask(t, "PUT", "/queues/ordered/limits", `{"each_key":{"in_order":true,"running":4}}`, 422); !strings.Contains(refused, "running of each key: 4 jobs at once, and they are to run in order") {
		t.Errorf("refused with %s", refused)
	}
	if refused := d.ask(t, "PUT", "/queues/ordered/limits", `{"each_key":{"hold_on_discard":true}}`, 422); !strings.Contains(refused, "hold on discard of each key: only jobs that run in order wait") {
		t.Errorf("refused with %s", refused)
	}
	d.ask(t, "PUT", "/queues/held/limits", `{"each_key":{"in_order":true,"hold_on_discard":true}}`, 204)
	held, err := job.New("k", []byte("1"), job.Queue("held"), job.LimitKey("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Insert(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply(t.Context(), job.Filter{IDs: []job.ID{held.ID}, Limit: 1}, job.ActionDiscard); err != nil {
		t.Fatal(err)
	}
	if use := d.ask(t, "GET", "/queues/held/limits?key=a", "", 200); !strings.Contains(use, `"hold_on_discard":true`) || !strings.Contains(use, `"key_discarded":"`+held.ID.String()) {
		t.Errorf("the limits are %s", use)
	}
	if use := d.ask(t, "GET", "/queues/ordered/limits?key=a", "", 200); !strings.Contains(use, `"in_order":true`) {
		t.Errorf("the limits are %s", use)
	}
	d.ask(t, "PUT", "/queues/q/limits", `{"running":`, 400)
	d.ask(t, "PUT", "/queues/q/limits", `{}`, 403, viewer...)
	d.ask(t, "PUT", "/queues/q/limits", huge, 413)
	d.ask(t, "PUT", "/queues/q/limits", `{}`, 415, plain...)
	d.ask(t, "PUT", "/queues/a%20b/limits", `{}`, 422)
	if use := d.ask(t, "GET", "/queues/q/limits?key=a", "", 200); !strings.Contains(use, `"starts":{"n":5,"per":60,"burst":3}`) {
		t.Errorf("the limits are %s", use)
	}
	d.ask(t, "GET", "/queues/q/limits?x=a", "", 400)
	d.ask(t, "PUT", "/queues/q/limits", `{"each_key":{"weight":2}}`, 204)
	d.ask(t, "PUT", "/queues/q/key-limits?key=a", `{"running":2,"starts":{"n":5,"per":"1m"},"units":{"n":9,"per":1,"burst":2},"weight":3}`, 204)
	d.ask(t, "PUT", "/queues/q/key-limits?key=b%2F1", `{"weight":7}`, 204)
	d.ask(t, "PUT", "/queues/q/key-limits?key=c", `{"weight":1}`, 204)
	d.ask(t, "PUT", "/queues/q/key-limits?key=c", `{}`, 204)
	d.ask(t, "PUT", "/queues/q/key-limits?key=a", `{"running":`, 400)
	d.ask(t, "PUT", "/queues/q/key-limits?key=a", `{}`, 403, viewer...)
	d.ask(t, "PUT", "/queues/q/key-limits?key=a", huge, 413)
	d.ask(t, "PUT", "/queues/q/key-limits?key=a", `{}`, 415, plain...)
	d.ask(t, "PUT", "/queues/q/key-limits?key=a", `{"weight":1001}`, 422)
	if use := d.ask(t, "GET", "/queues/q/limits?key=a", "", 200); !strings.Contains(use, `"overrides":2`) || !strings.Contains(use, `"own":{"running":2,`) || !strings.Contains(use, `{"weight":2}`) {
		t.Errorf("the limits are %s", use)
	}
	if got := d.ask(t, "GET", "/queues/q/key-limits?limit=1", "", 200); !strings.Contains(got, `"next":"a"`) || !strings.Contains(got, `"weight":3`) || strings.Count(got, `"key":`) != 1 {
		t.Errorf("the first page is %s", got)
	}
	if got := d.ask(t, "GET", "/queues/q/key-limits?after=a", "", 200); !strings.Contains(got, `{"key":"b/1","limits":{"weight":7}}`) || strings.Contains(got, "next") {
		t.Errorf("the last page is %s", got)
	}
	if got := d.ask(t, "GET", "/queues/none/key-limits", "", 200); !strings.Contains(got, `"keys":[]`) {
		t.Errorf("without any the page is %s", got)
	}
	d.ask(t, "GET", "/queues/q/key-limits?x=a", "", 400)
	d.ask(t, "GET", "/queues/q/key-limits?limit=0", "", 422)
	if got := d.ask(t, "GET", "/audit?limit=3", "", 200); !strings.Contains(got, `"set limits of key"`) || !strings.Contains(got, "q c no limits") || !strings.Contains(got, "q b/1 weight 7") {
		t.Errorf("the audit log has %s", got)
	}
	for i := range job.MaxOverrides {
		if err := store.SetKeyLimits(ctx, "many", strconv.Itoa(i), job.KeyLimits{Weight: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if refused := d.ask(t, "PUT", "/queues/many/key-limits?key=a", `{"weight":2}`, 422); !strings.Contains(refused, "set limits of key a of queue many: "+job.ErrOverrides.Error()) {
		t.Errorf("refused with %s", refused)
	}
	d.ask(t, "POST", "/crons/c/pause", "", 204)
	d.ask(t, "POST", "/crons/c/resume", "", 403, viewer...)
	d.ask(t, "POST", "/crons/d/pause", "", 404)
	d.ask(t, "POST", "/crons/c/run", "", 409)
	for path, want := range map[string]string{"/crons": `"paused":true`, "/counts": `"n":`, "/workers": `"name":"w"`, "/openapi.yaml": "openapi: 3.1.0"} {
		if got := d.ask(t, "GET", path, "", 200); !strings.Contains(got, want) {
			t.Errorf("%s: %s lacks %s", path, got, want)
		}
	}
	d.ask(t, "GET", "/events?id="+none, "", 200)
	d.ask(t, "GET", "/events?x=1", "", 400)
	d.ask(t, "GET", "/events?id=x", "", 422)
	for range mostStreams {
		d.places <- struct{}{}
	}
	d.ask(t, "GET", "/events", "", 503)

	d.askForMore(t, store, viewer, id)
	d.askForWork(t, viewer, plain)

	d.askTooMuch(t, none)
	for template, item := range d.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				if what := method + " " + template + " " + status; status != "default" && !d.seen[what] {
					t.Errorf("described, but not seen: %s", what)
				}
			}
		}
	}
}

// askTooMuch sends each path a parameter that it does not have.
func (d *described) askTooMuch(t *testing.T, id string) {
	t.Helper()
	values := strings.NewReplacer("{id}", id, "{name}", "q", "{action}", "pause")
	for template, item := range d.doc.Paths.Map() {
		for method := range item.Operations() {
			if got := d.ask(t, method, values.Replace(template)+"?x=1", "", 400); !strings.Contains(got, `\"x\" is not a parameter of this path`) {
				t.Errorf("%s %s: %s", method, template, got)
			}
		}
	}
}

// askForMore asks for what the store keeps about workers, the past and a running job.
func (d *described) askForMore(t *testing.T, store job.Store, viewer []string, running string) {
	t.Helper()
	d.ask(t, "POST", "/jobs", `{"kind":"once"}`, 201, "Idempotency-Key", "a")
	d.ask(t, "POST", "/jobs/bulk?ids=true", `{"kind":"k"}`, 200, "Content-Type", "application/x-ndjson")
	d.ask(t, "GET", "/jobs/"+running+"?wait=1ms", "", 200)
	d.ask(t, "GET", "/jobs/"+running+"?x=1", "", 400)
	d.ask(t, "GET", "/jobs/"+running+"?wait=x", "", 422)
	for range mostAwaits {
		d.awaits <- struct{}{}
	}
	d.ask(t, "GET", "/jobs/"+running+"?wait=1s", "", 503)
	d.ask(t, "GET", "/jobs/"+job.NewID().String()+"/tree", "", 404)
	d.ask(t, "GET", "/jobs/"+running+"/tree", "", 200)
	id, err := job.ParseID(running)
	if err != nil {
		t.Fatal(err)
	}
	stat := job.Stat{Minute: time.Now().Truncate(time.Minute), Worker: "w", Queue: "q", Kind: "k", Completed: 1}
	stat.Run.Add(time.Second)
	if _, err := store.Renew(t.Context(), job.Renewal{
		Worker: "w", Session: 1, Lease: time.Hour, Info: job.WorkerInfo{Name: "w", Queues: []string{"q"}, Crons: []string{"c"}},
		Trees: []job.Tree{{Job: id, Attempt: 1, JSON: []byte(`{"name":"k"}`)}}, Stats: []job.Stat{stat},
	}); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(t, "GET", "/jobs/"+running+"/tree", "", 200); !strings.Contains(got, `"tree":{"name":"k"}`) {
		t.Errorf("the tree is %s", got)
	}
	if got := d.ask(t, "GET", "/stats", "", 200); !strings.Contains(got, `"completed":1`) {
		t.Errorf("the stats are %s", got)
	}
	d.ask(t, "GET", "/stats?x=1", "", 400)
	d.ask(t, "GET", "/stats?minutes=121", "", 422)
	d.ask(t, "GET", "/audit?limit=1001", "", 422)
	d.ask(t, "GET", "/audit?x=1", "", 400)
	d.ask(t, "POST", "/workers/w/quiet", "", 204)
	if got := d.ask(t, "GET", "/audit?limit=1", "", 200); !strings.Contains(got, `"action":"quiet worker"`) || !strings.Contains(got, `"next":`) || strings.Count(got, `"n":`) != 1 {
		t.Errorf("the audit log is %s", got)
	}
	d.ask(t, "POST", "/workers/w/stop", "", 403, viewer...)
	d.ask(t, "POST", "/workers/none/stop", "", 404)
	if refused := d.ask(t, "POST", "/crons/c/run", "", 409); !strings.Contains(refused, "the cron is paused") {
		t.Errorf("a paused cron: %s", refused)
	}
	d.ask(t, "POST", "/crons/c/resume", "", 204)
	d.ask(t, "POST", "/crons/c/run", "", 204)
	got, err := store.Renew(t.Context(), job.Renewal{Worker: "w", Session: 1, Lease: time.Hour})
	if want := []job.Command{{Do: job.CommandQuiet}, {Do: job.CommandTick, Cron: "c"}}; err != nil || !slices.Equal(got.Commands, want) {
		t.Errorf("the worker gets the commands %+v, %v; want %+v", got.Commands, err, want)
	}
}

// askForWork makes a request for each status of the paths for worker programs.
func (d *described) askForWork(t *testing.T, viewer, plain []string) {
	t.Helper()
	for path, none := range map[string]string{"claim": "{}", "extend": "{}", "finish": `{"ends":[{}]}`, "leave": "{}"} {
		path = "/worker/" + path
		d.ask(t, "POST", path, "{", 400)
		d.ask(t, "POST", path, "{}", 403, viewer...)
		d.ask(t, "POST", path, `{"worker":"`+strings.Repeat("x", mostWork)+`"}`, 413)
		d.ask(t, "POST", path, "{}", 415, plain...)
		d.ask(t, "POST", path, none, 422)
	}
	d.ask(t, "POST", "/jobs", `{"kind":"work","args":[1],"queue":"work","timeout":30,"meta":{"a":"b"},"limit_key":"a"}`, 201)
	d.ask(t, "POST", "/worker/claim", `{"worker":"v","queues":["none"]}`, 200)
	var got struct {
		Session string
		Jobs    []struct{ ID string }
	}
	text := d.ask(t, "POST", "/worker/claim", `{"worker":"v","queues":["work","none"],"kinds":["work"],"limit":3,"lease":"1m","wait":1}`, 200)
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Jobs) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	which := fmt.Sprintf(`"session":%q,"id":%q,"attempt":1`, got.Session, got.Jobs[0].ID)
	d.ask(t, "POST", "/worker/extend", fmt.Sprintf(`{"worker":{"name":"v","host":"h","pid":1,"language":"ruby 3","labels":["l"],"concurrency":2},"lease":60,
		"sessions":[{"session":%q,"jobs":[%q]}],"progress":[{%s,"done":1,"total":2}],
		"records":[{%s,"time":"2030-01-01T00:00:00Z","level":"WARN","message":"m","attrs":{"a":1}}]}`, got.Session, got.Jobs[0].ID, which, which), 200)
	d.ask(t, "POST", "/worker/finish", `{"ends":[{`+which+`,"outcome":"failed","error":{"message":"m","type":"T","backtrace":["b"]},"delay":"30s","records":[{"message":"m"}]}]}`, 200)
	d.ask(t, "POST", "/worker/finish", `{"ends":[{`+which+`,"outcome":"completed","result":[1],"then":[{"kind":"k"}]}]}`, 200)
	d.ask(t, "POST", "/worker/leave", `{"worker":"v"}`, 204)
	for range mostPolls {
		d.polls <- struct{}{}
	}
	d.ask(t, "POST", "/worker/claim", `{"worker":"v","queues":["work"],"wait":1}`, 503)
}

// everything adds a job with all that a job can have, a worker and a cron to a store, and returns a running job and one that has finished.
func everything(ctx context.Context, t *testing.T, store job.Store) (running, done job.ID) {
	t.Helper()
	claim := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "q", Limit: 1}, {Queue: "default", Limit: 1}}, Limit: 2, Lease: time.Hour}
	got, err := store.Claim(ctx, claim)
	if err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claim: %+v, %v", got, err)
	}
	now := time.Now()
	full := got.Jobs[0]
	full.State = job.Completed
	full.Failures = []job.Failure{{Attempt: 1, Started: now, Time: now, Worker: "w", Error: "b", Stack: "s"}}
	full.Records = []job.Record{{Attempt: 1, Time: now, Level: "INFO", Message: "m", Attrs: "a=1"}}
	full.Progress = &job.ProgressReport{Done: 1, Total: 2, Time: now}
	full.Result = []byte(`{"ok":true}`)
	if lost, err := store.Settle(ctx, 1, job.Outcomes(full)...); err != nil || len(lost) > 0 {
		t.Fatalf("settle: %v, %v", lost, err)
	}
	if _, err := store.Renew(ctx, job.Renewal{Worker: "w", Session: 1, Lease: time.Hour, Info: job.WorkerInfo{Name: "w", Host: "h", Started: now, Queues: []string{"q"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Tick(ctx, job.Tick{Cron: "c", Spec: "@daily", At: now, Next: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	return got.Jobs[1].ID, full.ID
}
