package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A tester sends requests to an engine.
type tester struct {
	testing.TB
	engine *Engine
}

// open returns an engine with an index of three documents.
func open(t testing.TB) tester {
	t.Helper()
	e := New(Config{Folder: t.TempDir()})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	ask := tester{t, e}
	ask.want(200, "PUT", "/go", `{"mappings":{"properties":{"symbol":{"type":"text"},"text":{"type":"text"}}}}`)
	for id, document := range map[string]string{
		"net/http.Client": `{"symbol":"Client","text":"A Client is an HTTP client. Its Timeout bounds each request."}`,
		"context.Cause":   `{"symbol":"Cause","text":"Cause says why the context was canceled, such as a timeout of a request."}`,
		"io.Reader":       `{"symbol":"Reader","text":"Reader wraps the basic Read method.","tags":["a","b"]}`,
	} {
		ask.want(201, "PUT", "/go/_doc/"+strings.ReplaceAll(id, "/", "%2F"), document)
	}
	return ask
}

// want sends a request and returns the response, whose status must be as given.
func (t tester) want(status int, method, path, body string) map[string]any {
	t.Helper()
	got, text := t.send(method, path, body)
	if got != status {
		t.Fatalf("%s %s %.200s: got %d, want %d: %s", method, path, body, got, status, text)
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	return answer
}

func (t tester) send(method, path, body string) (status int, text string) {
	w := httptest.NewRecorder()
	t.engine.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// found searches and returns the IDs, the best first.
func (t tester) found(search string) []string {
	t.Helper()
	ids := []string{}
	for _, h := range t.want(200, "POST", "/go/_search", search)["hits"].(map[string]any)["hits"].([]any) {
		ids = append(ids, h.(map[string]any)["_id"].(string))
	}
	return ids
}

func (t tester) same(got any, want string) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestDocuments(t *testing.T) {
	ask := open(t)
	ask.same(ask.want(200, "GET", "/go/_count", ""), `{"count":3}`)
	ask.same(ask.want(201, "PUT", "/go/_doc/a", `{"symbol":"A"}`), `{"_id":"a","_index":"go","_version":1,"result":"created"}`)
	ask.same(ask.want(200, "POST", "/go/_doc/a", `{"symbol":"B"}`), `{"_id":"a","_index":"go","_version":2,"result":"updated"}`)
	ask.same(ask.want(200, "GET", "/go/_doc/a", ""), `{"_id":"a","_index":"go","_source":{"symbol":"B"},"_version":2,"found":true}`)
	ask.same(ask.found(`{"query":{"match":{"symbol":"a"}}}`), `[]`)
	ask.same(ask.found(`{"query":{"match":{"symbol":"b"}}}`), `["a"]`)
	ask.same(ask.want(200, "DELETE", "/go/_doc/a", ""), `{"_id":"a","_index":"go","_version":3,"result":"deleted"}`)
	ask.same(ask.want(404, "DELETE", "/go/_doc/a", ""), `{"_id":"a","_index":"go","result":"not_found"}`)
	ask.same(ask.want(404, "GET", "/go/_doc/a", ""), `{"_id":"a","_index":"go","found":false}`)
	ask.same(ask.found(`{"query":{"match":{"symbol":"b"}}}`), `[]`)
	made := ask.want(201, "POST", "/go/_doc", `{"symbol":"C"}`)["_id"].(string)
	ask.same(ask.want(200, "GET", "/go/_doc/"+made, "")["_source"], `{"symbol":"C"}`)
}

func TestIndexes(t *testing.T) {
	ask := open(t)
	ask.same(ask.want(200, "PUT", "/other", ""), `{"acknowledged":true,"index":"other","shards_acknowledged":true}`)
	ask.same(ask.want(200, "GET", "/other/_count", ""), `{"count":0}`)
	ask.same(ask.want(400, "PUT", "/other", "")["error"], `{"reason":"index [other] already exists","root_cause":[{"reason":"index [other] already exists","type":"resource_already_exists_exception"}],"type":"resource_already_exists_exception"}`)
	ask.same(ask.want(200, "DELETE", "/other", ""), `{"acknowledged":true}`)
	ask.want(404, "GET", "/other/_count", "")
	for i := range mostIndexes - 1 {
		ask.want(200, "PUT", fmt.Sprintf("/n%d", i), "")
	}
	ask.want(400, "PUT", "/toomany", "")
	files, err := filepath.Glob(filepath.Join(ask.engine.config.Folder, "*.db"))
	if err != nil || len(files) != mostIndexes {
		t.Errorf("got files %q, %v, want one for each of the %d indexes", files, err, mostIndexes)
	}
}

func TestSearch(t *testing.T) {
	ask := open(t)
	tests := []struct{ query, want string }{
		{`{"match_all":{}}`, `["context.Cause","io.Reader","net/http.Client"]`},
		{`{"match":{"text":"timeouts"}}`, `["context.Cause","net/http.Client"]`}, // matches by stem
		{`{"match":{"text":"timeout http"}}`, `["context.Cause","net/http.Client"]`},
		{`{"match":{"text":{"query":"timeout http","operator":"and"}}}`, `["net/http.Client"]`},
		{`{"match":{"symbol":"timeout"}}`, `[]`},
		{`{"match":{"unknown":"timeout"}}`, `[]`},
		{`{"match":{"text":"\"AND (NEAR* : -c1"}}`, `[]`},
		{`{"match":{"text":"\u0000"}}`, `[]`},
		{`{"multi_match":{"query":"reader client","fields":["symbol^3","text"]}}`, `["io.Reader","net/http.Client"]`},
		{`{"multi_match":{"query":"reader"}}`, `["io.Reader"]`},
		{`{"simple_query_string":{"query":"timeout -http"}}`, `["context.Cause"]`},
		{`{"simple_query_string":{"query":"timeout + http"}}`, `["net/http.Client"]`},
		{`{"simple_query_string":{"query":"http | basic"}}`, `["io.Reader","net/http.Client"]`},
		{`{"simple_query_string":{"query":"\"http client\""}}`, `["net/http.Client"]`},
		{`{"simple_query_string":{"query":"\"client http\""}}`, `[]`},
		{`{"simple_query_string":{"query":"cancel*"}}`, `["context.Cause"]`},
		{`{"simple_query_string":{"query":"time* why","default_operator":"and"}}`, `["context.Cause"]`},
		{`{"simple_query_string":{"query":"((( \" ) - \" | +"}}`, `[]`},
		{`{"simple_query_string":{"query":""}}`, `[]`},
	}
	for _, test := range tests {
		got := ask.found(`{"query":` + test.query + `}`)
		slices.Sort(got)
		t.Log(test.query)
		ask.same(got, test.want)
	}
	ask.same(ask.found(`{"size":1,"from":1}`)[:1], `["`+ask.found(`{}`)[1]+`"]`)
	ask.same(ask.found(`{"query":{"match":{"text":"timeout"}},"size":0}`), `[]`)
	ask.same(ask.found(`{"query":{"multi_match":{"query":"client timeout","fields":["symbol^9","text^0.1"]}}}`)[:1], `["net/http.Client"]`)
}

func TestSearchAnswer(t *testing.T) {
	ask := open(t)
	got := ask.want(200, "POST", "/go/_search", `{"query":{"match":{"text":"basic"}},"highlight":{"fields":{"text":{},"symbol":{}}}}`)
	if got["timed_out"] != false || got["took"] == nil {
		t.Errorf("got %v", got)
	}
	hits := got["hits"].(map[string]any)
	ask.same(hits["total"], `{"relation":"eq","value":1}`)
	first := hits["hits"].([]any)[0].(map[string]any)
	if score, _ := first["_score"].(float64); score <= 0 || score != hits["max_score"] {
		t.Errorf("got score %v, best %v", first["_score"], hits["max_score"])
	}
	ask.same(first["highlight"], `{"text":["Reader wraps the \u003cem\u003ebasic\u003c/em\u003e Read method."]}`)
	ask.same(first["_source"], `{"symbol":"Reader","tags":["a","b"],"text":"Reader wraps the basic Read method."}`)
}

func TestMalformed(t *testing.T) {
	ask := open(t)
	tests := []struct {
		status             int
		method, path, body string
		reason             string
	}{
		{404, "GET", "/none/_count", "", "no such index [none]"},
		{404, "PUT", "/none/_doc/1", "{}", "no such index [none]"},
		{404, "POST", "/none/_search", "", "no such index [none]"},
		{404, "DELETE", "/none", "", "no such index [none]"},
		{400, "PATCH", "/go/_doc/1", "", "no handler found"},
		{400, "GET", "/go/_nothing", "", "no handler found"},
		{400, "PUT", "/Upper", "", "Invalid index name"},
		{400, "PUT", "/" + strings.Repeat("x", 101), "", "Invalid index name"},
		{400, "PUT", "/%2e%2e%2fx", "", "Invalid index name"},
		{400, "PUT", "/new", "{", "unexpected EOF"},
		{400, "PUT", "/new", `{"mappings":{"properties":{"a b":{"type":"text"}}}}`, "field name [a b]"},
		{400, "PUT", "/new", `{"mappings":{"properties":{"a":{"type":"vector"}}}}`, "type [vector] of field [a]"},
		{400, "PUT", "/new", `{"mappings":{"properties":{` + strings.TrimSuffix(eachField(`"%c":{"type":"text"},`), ",") + `}}}`, "[9] fields to search"},
		{400, "PUT", "/go/_doc/1", "", "a document is a JSON object"},
		{400, "PUT", "/go/_doc/1", "null", "a document is a JSON object"},
		{400, "PUT", "/go/_doc/1", "[1]", "a document is a JSON object"},
		{400, "PUT", "/go/_doc/1", "{} {}", "a document is a JSON object"},
		{400, "PUT", "/go/_doc/1", strings.Repeat(`{"a":`, 20_000), "a document is a JSON object"},
		{400, "PUT", "/go/_doc/1", "{\"a\":\"\xff\"}", "not UTF-8"},
		{400, "PUT", "/go/_doc/" + strings.Repeat("x", 513), "{}", "an ID of [513] bytes"},
		{413, "PUT", "/go/_doc/1", `{"a":"` + strings.Repeat("x", MaxOne) + `"}`, "longer than [1048576] bytes"},
		{413, "POST", "/_bulk", strings.Repeat("\n", MaxBody+1), "longer than [8388608] bytes"},
		{400, "POST", "/_bulk", "", "request body is required"},
		{400, "POST", "/go/_bulk", "{}\n{}\n", "line [1]: an action"},
		{400, "POST", "/go/_bulk", "{\"update\":{}}\n{}\n", "line [1]: unknown action [update]"},
		{400, "POST", "/go/_bulk", "{\"index\":{}}\n", "line [2]: the document is missing"},
		{400, "POST", "/go/_bulk", strings.Repeat("{\"index\":{}}\n{}\n", mostBulk+1), "more than [10000] actions"},
		{400, "POST", "/go/_search", "{", "unexpected EOF"},
		{400, "POST", "/go/_search", "{} x", "something follows"},
		{400, "POST", "/go/_search", `{"sort":[]}`, `unknown field "sort"`},
		{400, "POST", "/go/_search", `{"size":1001}`, "size [1001]"},
		{400, "POST", "/go/_search", `{"size":-1}`, "size [-1]"},
		{400, "POST", "/go/_search", `{"from":9999999}`, "from [9999999]"},
		{400, "POST", "/go/_search", `{"query":{}}`, "[query] is an object with one field"},
		{400, "POST", "/go/_search", `{"query":{"fuzzy":{}}}`, "unknown query [fuzzy]"},
		{400, "POST", "/go/_search", `{"query":{"match":{"a":1}}}`, "cannot unmarshal"},
		{400, "POST", "/go/_search", `{"query":{"match":{"text":{"query":"a","operator":"xor"}}}}`, "operator [xor]"},
		{400, "POST", "/go/_search", `{"query":{"multi_match":{"query":"a","fields":["text^x"]}}}`, "field [text^x]"},
		{400, "POST", "/go/_search", `{"query":{"multi_match":{"query":"a","fields":["text^NaN"]}}}`, "field [text^NaN]"},
		{400, "POST", "/go/_search", `{"query":{"match":{"text":"` + strings.Repeat("x", longestQuery+1) + `"}}}`, "the text of a query"},
		{400, "POST", "/go/_search", `{"query":{"simple_query_string":{"query":"-a"}}}`, "nothing but words to leave out"},
	}
	for _, test := range tests {
		status, text := ask.send(test.method, test.path, test.body)
		var got struct {
			Error  failure
			Status int
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s %s %.60s: %v in %.100q", test.method, test.path, test.body, err, text)
			continue
		}
		if status != test.status || got.Status != status || !strings.Contains(got.Error.Reason, test.reason) || got.Error.Type == "" || len(got.Error.Cause) != 1 {
			t.Errorf("%s %s %.60s: got %d %+v, want %d and %q", test.method, test.path, test.body, status, got, test.status, test.reason)
		}
	}
}

// eachField formats one field more than the maximum.
func eachField(format string) string {
	var b strings.Builder
	for i := range mostFields + 1 {
		fmt.Fprintf(&b, format, 'a'+i)
	}
	return b.String()
}

// TestManyTerms searches for as many terms as fit into a query, combined in every way: SQLite accepts all of them.
func TestManyTerms(t *testing.T) {
	ask := open(t)
	for _, part := range []string{"a|", "a+", "a|b+", "\"a\"", "\"a\"-", "-a|", "a*|\"b\"+"} {
		text, err := json.Marshal("x " + strings.Repeat(part, (longestQuery-2)/len(part)))
		if err != nil {
			t.Fatal(err)
		}
		ask.want(200, "POST", "/go/_search", `{"query":{"simple_query_string":{"query":`+string(text)+`}}}`)
	}
	words, err := json.Marshal(strings.Repeat("a ", mostWords))
	if err != nil {
		t.Fatal(err)
	}
	ask.want(200, "POST", "/go/_search", `{"query":{"match":{"text":`+string(words)+`}}}`)
}

// TestAtOnce writes from many clients concurrently; each gets its own response.
func TestAtOnce(t *testing.T) {
	ask := open(t)
	err := meanwhile.Each(t.Context(), meanwhile.From(count(1000)), func(_ context.Context, n int) error {
		id := fmt.Sprintf("%d", n)
		status, text := ask.send("PUT", "/go/_doc/"+id, `{"text":"number `+id+`"}`)
		if want := `{"_index":"go","_id":"` + id + `","_version":1,"result":"created"}` + "\n"; status != 201 || text != want {
			return fmt.Errorf("got %d %s, want %s", status, text, want)
		}
		return nil
	}, meanwhile.Limit(1000))
	if err != nil {
		t.Fatal(err)
	}
	ask.same(ask.want(200, "GET", "/go/_count", ""), `{"count":1003}`)
	ask.same(ask.found(`{"query":{"match":{"text":"567"}}}`), `["567"]`)
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// TestLatency: each request is delayed, and ends early if its client disconnects.
func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{Folder: t.TempDir(), Latency: 50 * time.Millisecond})
		begun := time.Now()
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if took := time.Since(begun); took != 50*time.Millisecond || w.Code != 200 {
			t.Errorf("got %d after %v, want 200 after 50ms", w.Code, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		w = httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		if took := time.Since(begun); took != 60*time.Millisecond || w.Body.Len() > 0 {
			t.Errorf("got %q after %v, want nothing after 10ms more", w.Body, took)
		}
	})
}

// TestOverHTTP uses a real connection, and breaks it in the middle of a body.
func TestOverHTTP(t *testing.T) {
	ask := open(t)
	server := httptest.NewServer(ask.engine)
	defer server.Close()
	response, err := http.Post(server.URL+"/go/_search", "application/json", strings.NewReader(`{"query":{"match":{"symbol":"cause"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || !strings.Contains(string(text), `"_id":"context.Cause"`) {
		t.Errorf("got %s %s, %v", response.Status, text, err)
	}
	if got := response.Header.Get("Content-Type"); got != "application/json; charset=UTF-8" {
		t.Errorf("got content type %q", got)
	}
}

// TestFilesArePrivate: only the owner can read the files of an index.
func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system has no such file modes")
	}
	ask := open(t)
	files, err := filepath.Glob(filepath.Join(ask.engine.config.Folder, "index-*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 600", file, info, err)
		}
	}
}

func TestNoFolder(t *testing.T) {
	e := New(Config{Folder: filepath.Join(t.TempDir(), "none")})
	ask := tester{t, e}
	if got := ask.want(500, "PUT", "/go", "")["error"].(map[string]any)["type"]; got != "exception" {
		t.Errorf("got %v", got)
	}
	if _, err := os.Stat(e.config.Folder); err == nil {
		t.Error("the engine created its folder")
	}
}
