package jsonlines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// ask sends a request to a handler that adds records to a batcher.
func ask(to input.Batcher, method, path, body string, head ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	BulkHandler(func(*http.Request) input.Batcher { return to }).ServeHTTP(w, r)
	return w
}

// records returns the services and messages of the records that a recorder has.
func records(recorder *logtest.Recorder) (all []string) {
	for _, r := range recorder.Records() {
		all = append(all, r.Service+": "+r.Message)
	}
	return all
}

func TestBulk(t *testing.T) {
	const (
		two     = "{\"create\":{\"_index\":\"shop-2026.11.23\",\"_id\":\"a1\"}}\n{\"message\":\"a\"}\n{\"index\":{}}\r\n{\"log\":\"b\",\"service\":{\"name\":\"api\"}}\r\n"
		created = `"status":201,"result":"created","_shards":{"total":1,"successful":1,"failed":0}}}`
		items   = `"errors":false,"items":[{"create":{"_index":"shop-2026.11.23","_id":"a1",` + created + `,{"index":{"_index":"web",` + created + `]}`
	)
	tests := map[string]struct {
		method, path, encoding, body string
		status                       int
		want                         []string
		answer                       string
		refused                      bool
	}{
		"two":                {body: two, status: 200, want: []string{"shop: a", "api: b"}, answer: items},
		"put":                {method: "PUT", body: two, status: 200, want: []string{"shop: a", "api: b"}, answer: items},
		"gzip":               {encoding: "gzip", body: gzipped(two), status: 200, want: []string{"shop: a", "api: b"}, answer: items},
		"no last line feed":  {body: strings.TrimSpace(two), status: 200, want: []string{"shop: a", "api: b"}, answer: items},
		"no index":           {path: "/_bulk", body: "{\"create\":{}}\n{\"msg\":\"a\"}\n", status: 200, want: []string{"json: a"}, answer: `{"create":{"_index":"",`},
		"nothing":            {body: "\n", status: 200, answer: `"errors":false,"items":[]}`},
		"a bad document":     {body: "{\"create\":{}}\n{\"a\":}\n{\"create\":{}}\n{\"msg\":\"b\"}\n", status: 200, want: []string{"web: b"}, answer: `"errors":true,"items":[{"create":{"_index":"web","status":400,"error":{"type":"document_parsing_exception","reason":"the document is not a JSON object"}}},{"create":{"_index":"web",` + created, refused: true},
		"delete and update":  {body: "{\"delete\":{\"_id\":7}}\n{\"update\":{\"_id\":\"8\"}}\n{\"doc\":{}}\n{\"create\":{}}\n{\"msg\":\"b\"}\n", status: 200, want: []string{"web: b"}, answer: `"_id":"8","status":400,"error":{"type":"illegal_argument_exception"`, refused: true},
		"long numbers":       {body: "{\"index\":{\"_id\":12345678901234567890}}\n{\"msg\":\"a\"}\n{\"index\":{\"_id\":null}}\n{\"msg\":\"b\"}\n", status: 200, want: []string{"web: a", "web: b"}, answer: `"items":[{"index":{"_index":"web","_id":"12345678901234567890",` + created + `,{"index":{"_index":"web",` + created + `]}`},
		"no action":          {body: two + "{\"msg\":\"c\"}\n", status: 400, answer: `"reason":"line 5: `, refused: true},
		"no document":        {body: two + "{\"index\":{}}\n", status: 400, answer: `line 5: no document follows the action`, refused: true},
		"an unknown action":  {body: "\n\n{\"drop\":{}}\n{}\n", status: 400, answer: `line 3: \"drop\" is none of the actions`, refused: true},
		"two actions":        {body: "{\"index\":{},\"create\":{}}\n{}\n", status: 400, answer: `is not an action`, refused: true},
		"a long action":      {body: "{\"index\":{\"_index\":\"" + strings.Repeat("x", maxAction) + "\"}}\n{}\n", status: 400, answer: `is not an action`, refused: true},
		"too large":          {body: strings.Repeat("x", MaxBulk+1), status: 413, answer: "at most 16 MiB", refused: true},
		"a bomb":             {encoding: "gzip", body: gzipped(strings.Repeat("x", MaxBulk+1)), status: 413, answer: "at most 16 MiB", refused: true},
		"an unknown coding":  {encoding: "br", body: two, status: 415, answer: "send gzip", refused: true},
		"reading":            {method: "GET", status: 405, answer: "POST bulk requests"},
		"no path of a bulk":  {path: "/a/b/_bulk", body: two, status: 404, answer: "to /_bulk"},
		"another path":       {path: "/x", body: two, status: 404},
		"a template":         {method: "PUT", path: "/_index_template/filebeat", body: "{}", status: 200, answer: `{"acknowledged":true}`},
		"license":            {method: "GET", path: "/_license", status: 200, answer: `"status":"active"`},
		"health":             {method: "GET", path: "/_cluster/health", status: 200, answer: `"green"`},
		"the banner":         {method: "GET", path: "/", status: 200, answer: `"number":"8.`},
		"a document, nested": {body: "{\"create\":{}}\n{\"@timestamp\":\"2026-11-23T10:00:00.5Z\",\"log\":{\"level\":\"error\",\"file\":{\"path\":\"/x\"}},\"message\":\"m\"}\n", status: 200, want: []string{"web: m"}, answer: created},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var recorder logtest.Recorder
			method, path := test.method, test.path
			if method == "" {
				method = "POST"
			}
			if path == "" {
				path = "/web/_bulk"
			}
			w := ask(&recorder, method, path, test.body, "Content-Encoding", test.encoding, "Content-Type", "application/x-ndjson", "Accept", "application/json")
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.answer) {
				t.Errorf("got %d %.500s, want %d %s", w.Code, w.Body, test.status, test.answer)
			}
			if !json.Valid(w.Body.Bytes()) || w.Header().Get("X-Elastic-Product") != "Elasticsearch" {
				t.Errorf("the answer is not JSON, or X-Elastic-Product is missing: %v %s", w.Header(), w.Body)
			}
			if got := records(&recorder); !slices.Equal(got, test.want) {
				t.Errorf("records %q, want %q", got, test.want)
			}
			if synced, _, _ := recorder.Synced(); synced != len(test.want) {
				t.Errorf("answered when %d of %d records were on disk", synced, len(test.want))
			}
			if refused := len(recorder.Refused()) > 0; refused != test.refused {
				t.Errorf("refused %v", recorder.Refused())
			}
		})
	}
}

func TestBulkFields(t *testing.T) {
	var recorder logtest.Recorder
	ask(&recorder, "POST", "/logs/_bulk", "{\"create\":{}}\n{\"@timestamp\":\"2026-11-23T10:00:00.5Z\",\"log\":{\"level\":\"error\",\"file\":{\"path\":\"/x\"}},\"message\":\"m\"}\n{\"create\":{}}\n{\"log\":\"l\",\"msg\":\"m\"}\n")
	var got []string
	for _, r := range recorder.Records() {
		got = append(got, string(r.AppendJSON(nil)))
	}
	want := []string{
		`{"time":"2026-11-23T10:00:00.5Z","level":"ERROR","service":"logs","message":"m","attrs":{"log.file.path":"/x"}}`,
		`{"time":"1970-01-01T00:00:00Z","level":"INFO","service":"logs","message":"m","attrs":{"log":"l"}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestIsBulk(t *testing.T) {
	for target, want := range map[string]bool{
		"/_bulk": true, "/logs/_bulk": true, "/a/b/_bulk": false, "/v1/logs": false, "/_license": true, "/logs/find": false, "/_ilm/policy/x": true,
	} {
		r := httptest.NewRequest("POST", target, nil)
		r.Header.Set("Accept", "*/*")
		if IsBulk(r) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
	for accept, want := range map[string]bool{"": false, "application/json": true, "application/vnd.elasticsearch+json; compatible-with=8": true, "*/*": false, "text/html,*/*;q=0.8": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if IsBulk(r) != want {
			t.Errorf("Accept: %s: %v", accept, !want)
		}
	}
}

func TestBulkWhenFull(t *testing.T) {
	for _, err := range []error{fmt.Errorf("disk: %w", logs.ErrFull), logs.ErrClosed, errors.New("disk on fire at /var/x")} {
		recorder := logtest.Recorder{OnFlush: func(context.Context) error { return err }}
		w := ask(&recorder, "POST", "/_bulk", "{\"create\":{}}\n{}\n")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "/var") {
			t.Errorf("%v: got %d %v %s", err, w.Code, w.Header(), w.Body)
		}
	}
}

func TestBulkRefusesOtherOrigins(t *testing.T) {
	var recorder logtest.Recorder
	if w := ask(&recorder, "POST", "/_bulk", "{\"create\":{}}\n{}\n", "Origin", "https://evil.example"); w.Code != 403 || len(recorder.Records()) > 0 {
		t.Errorf("got %d", w.Code)
	}
}

// TestServiceOfIndex: the service is the index without its date.
func TestServiceOfIndex(t *testing.T) {
	for index, want := range map[string]string{
		"shop": "shop", "shop-2026.11.23": "shop", "logstash_20261123": "logstash", "filebeat-8.17.0": "filebeat-8.17.0", "filebeat-8.17.0-2026.11.23": "filebeat-8.17.0",
		"": Service, "-2026.11.23": Service,
	} {
		if got := serviceOf(index); got != want {
			t.Errorf("%s: got %s, want %s", index, got, want)
		}
	}
}

func FuzzBulk(f *testing.F) {
	f.Add("{\"create\":{\"_index\":\"x\",\"_id\":\"a1\"}}\n{\"message\":\"a\"}\n{\"index\":{}}\r\n{\"log\":\"b\"}\r\n")
	f.Add("{\"delete\":{\"_id\":{}}}\n{\"update\":{}}\n\n{\"create\":{}}\n[]")
	f.Fuzz(func(t *testing.T, body string) {
		var recorder logtest.Recorder
		w := ask(&recorder, "POST", "/web/_bulk", body)
		var answer struct {
			Errors bool
			Items  []map[string]struct{ Status int }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 && w.Code != 400 {
			t.Fatalf("%d %v: %s", w.Code, err, w.Body)
		}
		created := 0
		for _, item := range answer.Items {
			for _, outcome := range item {
				if outcome.Status == 201 {
					created++
				}
			}
		}
		if created != len(recorder.Records()) || answer.Errors != (created < len(answer.Items)) {
			t.Errorf("the answer has %d created items, want %d; its errors is %v", created, len(recorder.Records()), answer.Errors)
		}
	})
}
