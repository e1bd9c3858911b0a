package opensearch_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/opensearch"
)

// A cluster answers bulk requests as OpenSearch does.
type cluster struct {
	t      *testing.T
	status func(id string, document map[string]any) int // the status of an item; zero means the usual one

	mu    sync.Mutex
	order []string // of identities
	index map[string]string
	kept  map[string]map[string]any
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil || r.URL.Path != "/_bulk" || r.Header.Get("Content-Type") != "application/x-ndjson" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	type item struct {
		Create map[string]any `json:"create"`
	}
	var answer struct {
		Errors bool   `json:"errors"`
		Items  []item `json:"items"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var action struct {
			Create struct {
				Index string `json:"_index"`
				ID    string `json:"_id"`
			} `json:"create"`
		}
		var document map[string]any
		if json.Unmarshal(lines.Bytes(), &action) != nil || !lines.Scan() || json.Unmarshal(lines.Bytes(), &document) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id, status := action.Create.ID, http.StatusCreated
		if c.status != nil {
			if other := c.status(id, document); other != 0 {
				status = other
			}
		}
		if status == http.StatusCreated && c.kept[id] != nil {
			status = http.StatusConflict
		}
		result := map[string]any{"status": status}
		if status > 299 {
			answer.Errors = true
			result["error"] = map[string]any{"type": "some_exception", "reason": "a reason\n", "caused_by": 7}
		} else {
			c.kept[id], c.index[id] = document, action.Create.Index
			c.order = append(c.order, id)
		}
		answer.Items = append(answer.Items, item{result})
	}
	if lines.Err() != nil { // the body was cut off
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func newCluster(t *testing.T) (c *cluster, address string) {
	c = &cluster{t: t, index: map[string]string{}, kept: map[string]map[string]any{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

func open(t *testing.T, c opensearch.Config) *opensearch.Output {
	t.Helper()
	output, err := opensearch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := output.Close(); err != nil {
			t.Error(err)
		}
	})
	return output
}

func TestDocument(t *testing.T) {
	c, address := newCluster(t)
	r := logs.Record{
		Time: time.Date(2026, 5, 4, 3, 2, 1, 5, time.UTC), Level: slog.LevelWarn, Service: "API / größe", Message: "timed\x1b out \xff", Task: "main/x", Job: "j1", Number: 17,
		Attrs: []slog.Attr{
			slog.Int("http.status", 503), slog.Duration("took", time.Second), slog.Any("ids", json.RawMessage(`[1, {"a":null}]`)),
			slog.String("trace_id", "ab"), slog.String("span_id", "cd"),
		},
	}
	if err := open(t, opensearch.Config{URL: address, Index: "logs-{service}-{date}"}).Send(t.Context(), []logs.Record{r}); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c.kept[r.Identity()])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"@timestamp":"2026-05-04T03:02:01.000000005Z","attrs":{"http.status":503,"ids":[1,{"a":null}],"took":"1s"},` +
		`"event.id":"` + r.Identity() + `","event.sequence":17,"log.level":"warn","meanwhile.job":"j1","meanwhile.task":"main/x",` +
		`"message":"timed\u001b out ` + "\ufffd" + `","service.name":"API / größe","span.id":"cd","trace.id":"ab"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := c.index[r.Identity()], "logs-api___größe-2026.05.04"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRepeatedTrace: a document has each field once, although slog keeps repeated attributes.
func TestRepeatedTrace(t *testing.T) {
	c, address := newCluster(t)
	r := logs.Record{Service: "api", Number: 1, Attrs: []slog.Attr{slog.String("trace_id", "first"), slog.String("trace_id", "second")}}
	if err := open(t, opensearch.Config{URL: address}).Send(t.Context(), []logs.Record{r}); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c.kept[r.Identity()])
	if want := `"attrs":{"trace_id":"second"}`; err != nil || !strings.Contains(string(got), want) || !strings.Contains(string(got), `"trace.id":"first"`) {
		t.Errorf("got %s, %v, want trace.id first and %s", got, err, want)
	}
}

func someRecords(n int) (records []logs.Record) {
	for i := range n {
		records = append(records, logs.Record{Service: "api", Number: uint64(i + 1), Message: fmt.Sprint(i + 1), Attrs: []slog.Attr{slog.Int("n", i)}})
	}
	return records
}

// TestBusyCluster: a busy cluster accepts some records of a batch. The batch is sent again until all are accepted, and no document is stored
// twice.
func TestBusyCluster(t *testing.T) {
	for _, status := range []int{429, 503, 404, 403, 500} {
		c, address := newCluster(t)
		random := rand.New(rand.NewPCG(1, 2))
		c.status = func(string, map[string]any) int {
			if random.IntN(10) == 0 {
				return status
			}
			return 0
		}
		output, records := open(t, opensearch.Config{URL: address}), someRecords(50)
		tries := 1
		for ; ; tries++ {
			err := output.Send(t.Context(), records)
			if err == nil {
				break
			}
			if text := err.Error(); errors.Is(err, forward.ErrRefused) || !strings.Contains(text, "some_exception: a reason") || strings.Contains(text, "\n") {
				t.Fatal(err)
			}
			if tries == 10 {
				c.mu.Lock()
				c.status = nil
				c.mu.Unlock()
			}
		}
		if len(c.kept) != 50 || len(c.order) != 50 || tries < 2 {
			t.Errorf("status %d: %d of 50 documents are stored after %d tries", status, len(c.kept), tries)
		}
	}
}

// TestRefusedDocuments: a document that its index refuses is stored with its attributes as text, and one that is refused again is counted.
func TestRefusedDocuments(t *testing.T) {
	c, address := newCluster(t)
	c.status = func(_ string, document map[string]any) int {
		_, typed := document["attrs"]
		n := document["event.sequence"].(float64)
		if n == 7 || n == 8 || typed && n == 3 {
			return http.StatusBadRequest
		}
		return 0
	}
	records := someRecords(10)
	err := open(t, opensearch.Config{URL: address}).Send(t.Context(), records)
	refused, ok := errors.AsType[*forward.RefusedError](err)
	if !ok || refused.Count != 2 || refused.Why != "some_exception: a reason" {
		t.Errorf("got %v, want two refused records", err)
	}
	if got := c.kept[records[2].Identity()]["attrs_json"]; len(c.kept) != 8 || got != `{"n":2}` {
		t.Errorf("%d documents, the third has %v", len(c.kept), got)
	}
}

func TestOddAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		answer  string
		refused bool
	}{
		"a page":       {200, "<html>\x1b</html>", false},
		"none":         {200, `{"errors":false,"items":[]}`, false},
		"nothing":      {200, ``, false},
		"too few":      {200, `{"errors":true,"items":[]}`, false},
		"no status":    {200, `{"errors":true,"items":[{"create":{}}]}`, false},
		"no room":      {429, `{"error":"too many"}`, false},
		"too large":    {413, ``, true},
		"malformed":    {400, `{"error":"malformed"}`, true},
		"no password":  {401, `{"error":"who?"}`, false},
		"a moved host": {301, ``, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" || r.Header.Get("X-Tenant") != "7" {
				t.Errorf("%v", r.Header)
			}
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.answer))
		}))
		output := open(t, opensearch.Config{URL: strings.Replace(server.URL, "//", "//me:secret@", 1), Header: http.Header{"X-Tenant": {"7"}}})
		err := output.Send(t.Context(), someRecords(1))
		if err == nil || errors.Is(err, forward.ErrRefused) != test.refused || strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []opensearch.Config{
		{}, {URL: "host:9200"}, {URL: "http://h", Index: "Logs"}, {URL: "http://h", Index: "a b"}, {URL: "http://h", Index: "_all"}, {URL: "http://h", Index: "l-{day}"}, {URL: "http://h", Index: "a,b"},
	} {
		if _, err := opensearch.New(c); err == nil {
			t.Errorf("%+v: got no error", c)
		}
	}
}
