package loki

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

func post(to input.Batcher, body []byte, head ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/loki/api/v1/push", bytes.NewReader(body))
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	Handler(func(*http.Request) input.Batcher { return to }).ServeHTTP(w, r)
	return w
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// message appends a field that holds a message or a text.
func message[T string | []byte](b []byte, number protowire.Number, data T) []byte {
	return append(protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(len(data))), data...)
}

// pushed returns a push request of one stream with one entry for each line. Their times are 1 s, 2 s and so on.
func pushed(labels string, metadata []pair, lines ...string) []byte {
	stream := message(nil, 1, labels)
	for i, line := range lines {
		stamp := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(i+1))
		stamp = protowire.AppendVarint(protowire.AppendTag(stamp, 2, protowire.VarintType), 5)
		entry := message(message(nil, 1, stamp), 2, line)
		for _, p := range metadata {
			entry = message(entry, 3, message(message(nil, 1, p.key), 2, p.value))
		}
		stream = message(stream, 2, entry)
	}
	stream = protowire.AppendVarint(protowire.AppendTag(stream, 3, protowire.VarintType), 1<<63) // a hash of the labels, which is ignored
	return message(nil, 1, stream)
}

func texts(recorder *logtest.Recorder) (all []string) {
	for _, r := range recorder.Records() {
		text := fmt.Sprintf("%d %s %s %s", r.Time.UnixNano(), r.Level, r.Service, r.Message)
		for _, a := range r.Attrs {
			text += " " + a.String()
		}
		all = append(all, text)
	}
	return all
}

func TestHandler(t *testing.T) {
	const two = `{"streams":[{"stream":{"app":"shop","env":"prod","level":"warn"},"values":[["1000000000000000001","slow"],["2","fast",{"detected_level":"error","trace_id":"x","n":1}]]}]}`
	want := []string{"1000000000000000001 WARN shop slow app=shop env=prod", "2 WARN shop fast app=shop env=prod detected_level=error trace_id=x n=1"}
	proto := pushed(`{app="shop", env="a\"b", detected_level="error",}`, []pair{{"level", "debug"}, {"k", "v"}}, "one", "two")
	wantProto := []string{`1000000005 DEBUG shop one app=shop env=a"b k=v`, `2000000005 DEBUG shop two app=shop env=a"b k=v`}
	tests := map[string]struct {
		body   []byte
		head   []string
		status int
		want   []string
		answer string
	}{
		"JSON":         {body: []byte(two), head: []string{"Content-Type", "application/json; charset=utf-8"}, status: 204, want: want},
		"JSON, gzip":   {body: gzipped([]byte(two)), head: []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, status: 204, want: want},
		"values first": {body: []byte(`{"x":[{}],"streams":[{"values":[["1","a"]],"stream":{"service_name":"api"}}]}`), head: []string{"Content-Type", "application/json"}, status: 204, want: []string{"1 INFO api a"}},
		"a bad level":  {body: []byte(`{"streams":[{"stream":{"level":"high"},"values":[["1","a"]]}]}`), head: []string{"Content-Type", "application/json"}, status: 204, want: []string{"1 INFO loki a level=high"}},
		"its service":  {body: []byte(`{"streams":[{"stream":{"job":"j"},"values":[["1","a",{"service_name":"api"}]]}]}`), head: []string{"Content-Type", "application/json"}, status: 204, want: []string{"1 INFO api a job=j"}},
		"nothing":      {body: []byte(`{"streams":[]}`), head: []string{"Content-Type", "application/json"}, status: 204},
		"protobuf":     {body: snappy.Encode(nil, proto), head: []string{"Content-Type", "application/x-protobuf"}, status: 204, want: wantProto},
		"snappy, said": {body: snappy.Encode(nil, proto), head: []string{"Content-Encoding", "snappy"}, status: 204, want: wantProto},

		"a word as time":   {body: []byte(`{"streams":[{"stream":{},"values":[["1","a"],["now","b"]]}]}`), head: []string{"Content-Type", "application/json"}, status: 400, want: []string{"1 INFO loki a"}, answer: `malformed: the timestamp "now" is not a number of nanoseconds, after 1 entries`},
		"half of JSON":     {body: []byte(two[:80]), head: []string{"Content-Type", "application/json"}, status: 400, answer: "malformed: unexpected EOF, after 0 entries"},
		"a number as line": {body: []byte(`{"streams":[{"stream":{},"values":[["1",{}]]}]}`), head: []string{"Content-Type", "application/json"}, status: 400, answer: "expected a text at byte"},
		"an old request":   {body: []byte(`{"streams":[{"labels":"{a=\"b\"}","entries":[{"ts":"2026-11-23T10:00:00Z","line":"a"}]}]}`), head: []string{"Content-Type", "application/json"}, status: 400, answer: "a stream has no values"},
		"no snappy":        {body: []byte("\xff\xff\xff\xff\xff"), status: 400, answer: "no snappy"},
		"no protobuf":      {body: snappy.Encode(nil, []byte("\xff")), status: 400, answer: "no protobuf"},
		"no labels":        {body: snappy.Encode(nil, pushed(`app="shop"`, nil, "a")), status: 400, answer: "they begin with {"},
		"an open value":    {body: snappy.Encode(nil, pushed(`{app="shop}`, nil, "a")), status: 400, answer: "a value in quotes"},
		"long labels":      {body: snappy.Encode(nil, pushed(`{app="`+strings.Repeat("x", maxLabels)+`"}`, nil, "a")), status: 400, answer: "more than 32 KiB"},
		"many labels":      {body: snappy.Encode(nil, pushed(`{`+strings.Repeat(`a="b",`, maxPairs+1)+`}`, nil, "a")), status: 400, answer: "more than 500 labels"},
		"much metadata":    {body: snappy.Encode(nil, pushed(`{}`, make([]pair, maxPairs+1), "a")), status: 400, answer: "more than 500 pairs"},
		"too large":        {body: make([]byte, MaxBody+1), head: []string{"Content-Type", "application/json"}, status: 413, answer: "a body has at most 16 MiB"},
		"a bomb":           {body: snappy.Encode(nil, make([]byte, MaxBody+1)), status: 413, answer: "a body has at most 16 MiB"},
		"another encoding": {body: []byte(two), head: []string{"Content-Type", "application/json", "Content-Encoding", "br"}, status: 415, answer: "send gzip"},
		"a page of others": {body: []byte(two), head: []string{"Content-Type", "text/plain", "Origin", "https://evil.example"}, status: 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var recorder logtest.Recorder
			w := post(&recorder, test.body, test.head...)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.answer) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.answer)
			}
			if got := texts(&recorder); !slices.Equal(got, test.want) {
				t.Errorf("records\n%q, want\n%q", got, test.want)
			}
			if synced, _, _ := recorder.Synced(); synced != len(test.want) {
				t.Errorf("answered when %d of %d records were on disk", synced, len(test.want))
			}
			if refused := len(recorder.Refused()) > 0; refused != (test.status >= 400 && test.status != 403) {
				t.Errorf("refused %v", recorder.Refused())
			}
		})
	}
}

// TestHandlerTakesTheOutput: the handler decodes the records that the output of this package encodes.
func TestHandlerTakesTheOutput(t *testing.T) {
	shelf := logtest.Batch("api", logs.Client{}, 1, 20)
	var records []logs.Record
	for v, err := range shelf.Views {
		if err != nil {
			t.Fatal(err)
		}
		r := v.Record()
		r.Service = "api"
		records = append(records, r)
	}
	var recorder logtest.Recorder
	if w := post(&recorder, encode(records), "Content-Type", "application/json"); w.Code != 204 {
		t.Fatal(w.Code, w.Body)
	}
	got := recorder.Records()
	if len(got) != 20 {
		t.Fatalf("%d records", len(got))
	}
	slices.SortFunc(got, func(a, b logs.Record) int { return a.Time.Compare(b.Time) })
	for i, r := range got {
		if want := records[i]; r.Service != want.Service || r.Message != want.Message || r.Level != want.Level || !r.Time.Equal(want.Time) {
			t.Errorf("got %v, want %v", r, want)
		}
	}
}

func TestHandlerWhenFull(t *testing.T) {
	for err, after := range map[error]string{fmt.Errorf("disk: %w", logs.ErrFull): "30", logs.ErrClosed: "1", context.DeadlineExceeded: "1", errors.New("disk on fire at /var/x"): "1"} {
		recorder := logtest.Recorder{OnFlush: func(context.Context) error { return err }}
		w := post(&recorder, []byte(`{"streams":[{"stream":{},"values":[["1","a"]]}]}`), "Content-Type", "application/json")
		if w.Code != 503 || w.Header().Get("Retry-After") != after || strings.Contains(w.Body.String(), "/var") {
			t.Errorf("%v: got %d %v %s", err, w.Code, w.Header(), w.Body)
		}
	}
}

// TestEmptyEntriesAreFlushed: many entries without text, which take hardly any bytes in a request, do not wait in memory for one flush.
func TestEmptyEntriesAreFlushed(t *testing.T) {
	const entries = 20_000
	for kind, body := range map[string][]byte{
		"":                 snappy.Encode(nil, message(nil, 1, append(message(nil, 1, "{}"), bytes.Repeat([]byte{2<<3 | 2, 0}, entries)...))),
		"application/json": []byte(`{"streams":[{"stream":{},"values":[["1",""]` + strings.Repeat(`,["1",""]`, entries-1) + `]}]}`),
	} {
		var recorder logtest.Recorder
		most := 0
		recorder.OnFlush = func(context.Context) error {
			most = max(most, len(recorder.Added()))
			return nil
		}
		if w := post(&recorder, body, "Content-Type", kind); w.Code != 204 || len(recorder.Records()) != entries {
			t.Errorf("%q: got %d %s, %d records", kind, w.Code, w.Body, len(recorder.Records()))
		}
		if most > 4096 {
			t.Errorf("%q: up to %d records waited for a flush", kind, most)
		}
	}
}

// TestHandlerBoundsDecoding: a request in JSON is accepted only if there is memory for its body and for the copies of its streams.
func TestHandlerBoundsDecoding(t *testing.T) {
	request := []byte(`{"streams":[{"stream":{},"values":[["1","` + strings.Repeat("x", 3<<10) + `"]]}]}`)
	for size, want := range map[int]int{12 << 10: 503, 16 << 10: 204} {
		budget := meanwhile.NewSemaphore(size)
		h := &handler{open: func(*http.Request) input.Batcher { return &logtest.Recorder{} }, budget: budget, bodies: body.Reader{Most: MaxBody, Budget: budget}}
		r := httptest.NewRequest(http.MethodPost, "/loki/api/v1/push", bytes.NewReader(request))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want || !budget.TryAcquire(size) {
			t.Errorf("with %d bytes: got %d %s, want %d, and all bytes released", size, w.Code, w.Body, want)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"streams":[{"stream":{"app":"shop","level":"warn"},"values":[["1","slow"],["2","fast",{"n":1}]]}]}`))
	f.Add([]byte(`{"streams":[{"values":[["1","a"]],"stream":{"service_name":"api"}},{}],"x":[[[]]]}`))
	f.Fuzz(func(t *testing.T, body []byte) { fuzz(t, body, "application/json") })
}

func FuzzProtobuf(f *testing.F) {
	f.Add(pushed(`{app="shop", env="a\"b"}`, []pair{{"level", "debug"}}, "one", "two"))
	f.Add(pushed("{`", nil, "one"))
	f.Fuzz(func(t *testing.T, body []byte) { fuzz(t, snappy.Encode(nil, body), "") })
}

func fuzz(t *testing.T, body []byte, kind string) {
	var recorder logtest.Recorder
	w := post(&recorder, body, "Content-Type", kind)
	if w.Code != 204 && w.Code != 400 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, r := range recorder.Records() {
		v := r.View()
		if err := v.Check(); err != nil || r.Service == "" || r.Time.UnixNano() < 0 {
			t.Errorf("%v: %+v", err, r)
		}
	}
}
