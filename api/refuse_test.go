package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/internal/problem"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// element matches the index of an array element in the name of a field, which Go 1.26 leaves out.
var element = regexp.MustCompile(`("\w+)\.0\.`)

// TestRefusals sends invalid requests, and wants one line that explains each.
func TestRefusals(t *testing.T) {
	h := api.New(api.Config{Store: memory.New()})
	id := job.NewID().String()
	for _, test := range []struct {
		method, path, body string
		edits              []func(*http.Request)
		status             int
		detail             string
	}{
		{"GET", "/", "", nil, 404, "there is nothing at this path; /api/v1/openapi.yaml lists what there is"},
		{"GET", "/../../etc", "", nil, 404, "there is nothing at this path"},
		{"PUT", "/jobs", "{}", nil, 405, "this path takes GET, HEAD, POST, not PUT"},
		{"GET", "/jobs/x", "", nil, 404, `"x" is not a job ID`},
		{"GET", "/jobs/" + id, "", nil, 404, "no such job"},
		{"GET", "/jobs?limit=0", "", nil, 422, `limit "0": give from 1 to 200`},
		{"GET", "/jobs?limit=1&limit=2", "", nil, 400, "limit: give it once"},
		{"GET", "/jobs?kin=k", "", nil, 400, `"kin" is not a parameter of this path`},
		{"GET", "/jobs?state=done", "", nil, 422, `"done" is not a state: give some of [queued scheduled`},
		{"GET", "/jobs?args=user", "", nil, 422, `args "user": give PATH=VALUE, as in user.id=7`},
		{"GET", "/jobs?created_after=today", "", nil, 422, `"today" is not a time such as 2026-01-31T15:04:05Z`},
		{"GET", "/jobs?id=x", "", nil, 422, `"x" is not a job ID`},
		{"GET", "/jobs?before=x", "", nil, 422, `before: "x" is not a job ID`},
		{"GET", "/jobs?a=%zz", "", nil, 400, "the query cannot be read"},
		{"GET", "/jobs?error=" + strings.Repeat("x", 17<<10), "", nil, 414, "the query has more than 16384 bytes"},
		{"POST", "/jobs", "", nil, 415, `the Content-Type is "": send application/json, in UTF-8`},
		{"POST", "/jobs", `{}`, []func(*http.Request){header("Content-Type", "text/plain")}, 415, `the Content-Type is "text/plain"`},
		{"POST", "/jobs", `{}`, []func(*http.Request){header("Content-Type", "application/json; charset=latin1")}, 415, "in UTF-8"},
		{"POST", "/jobs", `{}`, []func(*http.Request){header("Content-Encoding", "gzip")}, 415, `the Content-Encoding is "gzip"`},
		{"POST", "/jobs", `{}`, nil, 422, "the name of the kind is empty"},
		{"POST", "/jobs", ` `, nil, 400, "the body: it is empty: send a JSON object"},
		{"POST", "/jobs", ` null `, nil, 400, "the body: it is null: send a JSON object"},
		{"PUT", "/queues/q/limits", `null`, nil, 400, "the body: it is null: send a JSON object"},
		{"POST", "/worker/finish", `{}`, nil, 422, "ends: give the outcomes of attempts"},
		{"POST", "/worker/finish", `{"ends":null}`, nil, 422, "ends: give the outcomes of attempts"},
		{"POST", "/jobs", `{"kind":`, nil, 400, "the body: the JSON breaks off"},
		{"POST", "/jobs", `{"kind":"k"}{}`, nil, 400, "the body: there is more behind the JSON object"},
		{"POST", "/jobs", `{kind:1}`, nil, 400, "the body: no JSON: invalid character 'k' looking for beginning of object key string, at byte 2"},
		{"POST", "/jobs", `[]`, nil, 400, "the body: it is of type array: give one of type object"},
		{"POST", "/jobs", `{"kind":1}`, nil, 400, `the body: "kind" is of type number: give one of type string`},
		{"POST", "/jobs", `{"kind":"k","priority":"9"}`, nil, 400, `the body: "priority" is of type string: give one of type integer`},
		{"POST", "/jobs", `{"kind":"k","priority":5.5}`, nil, 400, `the body: "priority" is 5.5: give an integer, without a fraction or an exponent`},
		{"POST", "/jobs", `{"kind":"k","priority":1e0}`, nil, 400, `the body: "priority" is 1e0: give an integer, without a fraction or an exponent`},
		{"POST", "/jobs", `{"kind":"k","priority":99999999999999999999}`, nil, 400, `the body: "priority" is 99999999999999999999: give an integer, without a fraction or an exponent, of at most 18 digits`},
		{"POST", "/worker/extend", `{"progress":[{"done":"x"}]}`, nil, 400, `the body: "progress.done" is of type string: give one of type integer`},
		{"POST", "/worker/extend", `{"progress":[{"attempt":"x"}]}`, nil, 400, `the body: "progress.attempt" is of type string: give one of type integer`},
		{"POST", "/worker/extend", `{"records":[{"session":1}]}`, nil, 400, `the body: "records.session" is of type number: give one of type string`},
		{"POST", "/worker/extend", `{"records":[{"level":1}]}`, nil, 400, `the body: "records.level" is of type number: give one of type string`},
		{"POST", "/worker/finish", `{"ends":[{"session":1}]}`, nil, 400, `the body: "ends.session" is of type number: give one of type string`},
		{"POST", "/worker/finish", `{"ends":[{"attempt":1.5}]}`, nil, 400, `the body: "ends.attempt" is 1.5: give an integer`},
		{"POST", "/jobs", `{"kind":"k","state":"running"}`, nil, 400, `the body: unknown field "state"`},
		{"POST", "/jobs", "{\"kind\":\"\xff\"}", nil, 400, "the body: it is not UTF-8"},
		{"POST", "/jobs", `{"kind":"k","args":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, nil, 400, "the body: it has more than 100 objects and arrays in each other"},
		{"POST", "/jobs", `{"kind":"k","args":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 422, "the args have 1048578 bytes, at most 1048576 are allowed"},
		{"POST", "/jobs", `{"kind":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 413, "the body has more than 1114112 bytes"},
		{"POST", "/jobs", `{"kind":"` + strings.Repeat("x", 2<<20) + `"}`, []func(*http.Request){func(r *http.Request) { r.ContentLength = -1 }}, 413, "the body has more than 1114112 bytes"},
		{"POST", "/jobs", `{"kind":"k","priority":10}`, nil, 422, "priority 10: give from 1 to 9"},
		{"POST", "/jobs", `{"kind":"k","delay":"soon"}`, nil, 400, `"soon" is not a duration: give seconds, or a text such as "1h30m"`},
		{"POST", "/jobs", `{"kind":"k","delay":-1}`, nil, 400, `-1 is not a duration`},
		{"POST", "/jobs", `{"kind":"k","delay":1,"run_at":"2030-01-01T00:00:00Z"}`, nil, 422, "run_at and delay: give one of them"},
		{"POST", "/jobs", `{"kind":"k","run_at":"tomorrow"}`, nil, 400, `"tomorrow" is not a time`},
		{"POST", "/jobs", `{"kind":"k","run_at":"9999-12-31T23:59:59-23:59"}`, nil, 422, "a run time in the year 10000: give one from 1970 to 9999"},
		{"POST", "/jobs", `{"kind":"k","unique_key":"k","unique_args":true}`, nil, 422, "unique_key and unique_args: give one of them"},
		{"POST", "/jobs", `{"kind":"k","unique_for":1}`, nil, 422, "unique_for: say what is unique"},
		{"POST", "/jobs", `{"kind":"k","unique_while":["queued"]}`, nil, 422, "unique_while: say what is unique"},
		{"POST", "/jobs", `{"kind":"k","delay":1,"debounce":{"key":"d","delay":1,"within":2}}`, nil, 422, "debounce says what is unique, and when it is due"},
		{"POST", "/jobs", `{"kind":"k","debounce":{"key":"d","delay":5,"within":2}}`, nil, 422, "debounced for 5s, and at most 2s: give a positive duration"},
		{"POST", "/jobs", `{"kind":"k","replace":true}`, nil, 422, "replace: say what is unique"},
		{"POST", "/jobs", `{"kind":"k","unique_key":"k","unique_while":["scheduled"]}`, nil, 422, "give states in which jobs are stored"},
		{"POST", "/jobs", `{"kind":"k","unique_key":"k","unique_while":[]}`, nil, 422, "UniqueWhile has no state"},
		{"POST", "/jobs", `{"kind":"k","unique_args":[]}`, nil, 400, `"unique_args": give true, or an array`},
		{"POST", "/jobs/bulk", `{"kind":"k"}`, nil, 415, "send application/x-ndjson"},
		{"POST", "/jobs/" + id + "/cancel", "", nil, 404, "no such job"},
		{"POST", "/jobs/" + id + "/retry", "", []func(*http.Request){header("Content-Type", "application/json")}, 404, "no such job"},
		{"POST", "/jobs/" + id + "/eat", "", nil, 404, `"eat" is not an action on a job`},
		{"POST", "/jobs/" + id + "/move", "", nil, 422, "move: give the queue"},
		{"POST", "/jobs/" + id + "/move", `{"queue":"a b"}`, nil, 422, "has a space"},
		{"POST", "/jobs/" + id + "/cancel", `{"queue":"a"}`, nil, 422, "cancel: queue is for move only"},
		{"POST", "/jobs/" + id + "/priority", `{"priority":0}`, nil, 422, "priority 0: give from 1 to 9"},
		{"POST", "/jobs/" + id + "/schedule", `{}`, nil, 422, "schedule: give one of run_at and delay"},
		{"POST", "/actions", `{"action":"delete"}`, nil, 422, `give a filter, or "all":true, and not both`},
		{"POST", "/actions", `{"action":"delete","filter":{}}`, nil, 422, `give a filter, or "all":true, and not both`},
		{"POST", "/actions", `{"action":"delete","filter":{"kind":["k"]},"all":true}`, nil, 422, `give a filter, or "all":true, and not both`},
		{"POST", "/actions", `{"action":"delete","filter":{"kind":["k"],"id":[]}}`, nil, 422, "id of the filter is empty: give a value, or leave it out"},
		{"POST", "/actions", `{"action":"delete","filter":{"kind":["k"],"worker":""}}`, nil, 422, "worker of the filter is empty: give a value, or leave it out"},
		{"POST", "/actions", `{"action":"eat","all":true}`, nil, 422, `"eat" is not an action: give retry`},
		{"POST", "/actions", `{"action":"retry","filter":{"kinds":["k"]}}`, nil, 400, `unknown field "kinds"`},
		{"POST", "/actions", `{"action":"retry","all":true,"limit":0}`, nil, 422, "limit 0: give a positive number, or leave it out"},
		{"POST", "/queues/q/stop", "", nil, 404, `"stop" is not an action on a queue: there are pause and resume`},
		{"POST", "/queues/a%20b/pause", "", nil, 422, "has a space"},
		{"PUT", "/queues/q/limits", `{"running":-1}`, nil, 422, "set limits of queue q: running: -1 jobs at once: give from 1 to 1000000, or 0 for no bound"},
		{"PUT", "/queues/q/limits", `{"starts":{"n":5}}`, nil, 422, "set limits of queue q: starts: a rate of 5 per 0s: give a time up to a year"},
		{"PUT", "/queues/q/limits", `{"each_key":{"weight":-1}}`, nil, 422, "set limits of queue q: weight of each key: -1 jobs in a turn: give from 1 to 1000, or 0 for 1"},
		{"PUT", "/queues/q/key-limits?key=a", `{"running":-1}`, nil, 422, "set limits of key a of queue q: running of key a: -1 jobs at once: give from 1 to 1000000, or 0 for no bound"},
		{"PUT", "/queues/q/key-limits?key=a", `{"in_order":true}`, nil, 422, "set limits of key a of queue q: in order: the jobs of one key alone cannot run in order: set it for each key of the queue, and leave it out here"},
		{"PUT", "/queues/q/key-limits", `{"running":1}`, nil, 422, "set limits of a key of queue q: the limit key is empty: name the one that is to have limits of its own"},
		{"PUT", "/queues/q/key-limits?key=a&x=1", `{}`, nil, 400, `"x" is not a parameter of this path`},
		{"POST", "/crons/c/pause", "", nil, 404, `no worker has reported a cron "c"`},
		{"GET", "/events?id=x", "", nil, 422, `"x" is not a job ID`},
		{"GET", "/events?" + strings.Repeat("id="+id+"&", 101), "", nil, 422, "101 jobs: follow at most 100 in one stream"},
		{"GET", "/events?kind=k", "", nil, 400, `"kind" is not a parameter of this path`},
		{"DELETE", "/jobs/00000000000000000000000000?dry_run=true", "", nil, 400, `"dry_run" is not a parameter of this path`},
		{"POST", "/actions?limit=10", `{"action":"delete","all":true}`, nil, 400, `"limit" is not a parameter of this path`},
		{"POST", "/queues/q/pause?x", "", nil, 400, `"x" is not a parameter of this path`},
		{"GET", "/counts?queue=q", "", nil, 400, `"queue" is not a parameter of this path`},
		{"POST", "/worker/claim?wait=5s", `{}`, nil, 400, `"wait" is not a parameter of this path`},
	} {
		w := ask(h, test.method, test.path, test.body, test.edits...)
		var reported struct {
			Title, Detail string
			Status        int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &reported); err != nil {
			t.Errorf("%s %.60s %.60s: %d %s: %v", test.method, test.path, test.body, w.Code, w.Body, err)
			continue
		}
		reported.Detail = element.ReplaceAllString(reported.Detail, "$1.")
		if w.Code != test.status || reported.Status != test.status || !strings.Contains(reported.Detail, test.detail) ||
			strings.Contains(reported.Detail, "\n") || reported.Title != http.StatusText(test.status) || w.Header().Get("Content-Type") != problem.Type {
			t.Errorf("%s %.60s %.60s: got %d %+v, want %d %s", test.method, test.path, test.body, w.Code, reported, test.status, test.detail)
		}
	}
	if w := ask(h, "PUT", "/jobs", ""); w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", w.Header().Get("Allow"))
	}
}

func TestAStoreThatFails(t *testing.T) {
	var log bytes.Buffer
	h := api.New(api.Config{Store: broken{memory.New()}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, path := range []string{"/counts", "/events"} {
		w := ask(h, "GET", path, "")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "db7") || !strings.Contains(w.Body.String(), "the log of the server says why") {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
		if !strings.Contains(log.String(), "path=/api/v1"+path) || !strings.Contains(log.String(), "db7.internal") {
			t.Errorf("%s: the log has %s", path, &log)
		}
	}
}

func TestARequestThatIsGivenUp(t *testing.T) {
	var log bytes.Buffer
	h := api.New(api.Config{Store: memory.New(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := ask(h, "GET", "/counts", "", func(r *http.Request) { *r = *r.WithContext(ctx) })
	if w.Code != 503 || !strings.Contains(w.Body.String(), "was given up") || log.Len() > 0 {
		t.Errorf("got %d %s; the log has %s", w.Code, w.Body, &log)
	}
}

// FuzzRequest sends any body to any path. The answer is JSON and not a failure of the server, and a refused request changes nothing.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST", "/jobs", `{"kind":"k","args":{"a":[1]},"unique_args":["a"],"delay":"1h"}`},
		{"POST", "/jobs", `{"kind":"k","run_at":"9999-12-31T23:59:59-23:59","unique_for":1e9}`},
		{"POST", "/jobs/bulk", "{\"kind\":\"k\"}\n{"},
		{"POST", "/actions", `{"action":"schedule","delay":1,"filter":{"args":["a=1"],"error":"x"}}`},
		{"GET", "/jobs?args=a.b=1&state=retrying&before=" + job.NewID().String(), ""},
		{"POST", "/jobs/" + job.NewID().String() + "/retry", "null"},
		{"POST", "/queues/x/pause", ""},
		{"DELETE", "/jobs/..%2f", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		r, err := http.NewRequest(method, "http://jobs.example"+api.Prefix+path, strings.NewReader(body))
		if err != nil || strings.HasPrefix(r.URL.Path, api.Prefix+"/events") || strings.HasPrefix(r.URL.Path, api.Prefix+"/openapi") {
			t.Skip()
		}
		h := api.New(api.Config{Store: memory.New()})
		w := ask(h, "GET", "/counts", "")
		before := w.Body.String()
		w = ask(h, "GET", "", "", func(ask *http.Request) {
			*ask = *r
			ask.Header.Set("Content-Type", map[bool]string{true: "application/x-ndjson", false: "application/json"}[strings.HasSuffix(path, "bulk")])
		})
		if w.Code >= 500 || w.Code < 200 || w.Body.Len() > 0 && method != "HEAD" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s %s: got %d %s", method, path, body, w.Code, w.Body)
		}
		if after := ask(h, "GET", "/counts", "").Body.String(); w.Code >= 400 && !strings.HasSuffix(path, "bulk") && after != before {
			t.Errorf("%s %s %s: refused with %d, and changed %s to %s", method, path, body, w.Code, before, after)
		}
	})
}
