package jsonlines

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// post posts a body to a handler that adds records to a recorder, and returns the response.
func post(recorder *logtest.Recorder, config Config, body io.Reader, head ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/records?service=api", body)
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	Handler(func(*http.Request) input.Batcher { return recorder }, config).ServeHTTP(w, r)
	return w
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func zstandard(text string) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestHandler(t *testing.T) {
	const (
		jsonType = "application/json"
		lines    = "application/x-ndjson"
		two      = "{\"msg\":\"a\"}\r\n\n{\"msg\":\"b\"}"
	)
	tests := map[string]struct {
		kind, encoding, body string
		status               int
		messages             string
		answer               string
	}{
		"lines":             {kind: lines, body: two + "\n", status: 200, messages: "a b", answer: `{"records":2}`},
		"no last line feed": {kind: lines, body: two, status: 200, messages: "a b", answer: `{"records":2}`},
		"no kind":           {body: two, status: 200, messages: "a b", answer: `{"records":2}`},
		"nothing":           {kind: lines, status: 200, answer: `{"records":0}`},
		"blank":             {kind: lines, body: " \n\n", status: 200, answer: `{"records":0}`},
		"text":              {kind: lines, body: "[12:15] hello\n", status: 200, messages: "[12:15] hello", answer: `{"records":1}`},
		"array":             {kind: lines, body: " [ {\"msg\":\"a\"},\n{\"msg\":\"]}\\\"\"} ]\n", status: 200, messages: `a ]}"`, answer: `{"records":2}`},
		"empty array":       {kind: jsonType, body: "[]", status: 200, answer: `{"records":0}`},
		"objects":           {kind: jsonType, body: "{\"msg\":\n\"a\"} {\"msg\":\"b\"}", status: 200, messages: "a b", answer: `{"records":2}`},
		"gzip":              {kind: lines, encoding: "gzip", body: gzipped(two), status: 200, messages: "a b", answer: `{"records":2}`},
		"zstd":              {kind: lines, encoding: "zstd", body: zstandard(two), status: 200, messages: "a b", answer: `{"records":2}`},

		"malformed":          {kind: lines, body: two + "\n\n{\"a\":}\n{\"msg\":\"c\"}\n", status: 400, messages: "a b", answer: `{"records":2,"error":"line 5: byte 6: no value","line":5}`},
		"malformed in array": {kind: lines, body: "[{\"msg\":\"a\"},\n{\"a\"}]", status: 400, messages: "a", answer: `{"records":1,"error":"line 2: byte 5: no colon after a key","line":2}`},
		"numbers":            {kind: jsonType, body: "[1]", status: 400, answer: `{"records":0,"error":"line 1: neither an object nor the end of the array","line":1}`},
		"open array":         {kind: jsonType, body: "[{}", status: 400, messages: "", answer: `{"records":1,"error":"line 1: an array has no end","line":1}`},
		"open object":        {kind: jsonType, body: "{\n", status: 400, answer: `{"records":0,"error":"line 1: an object has no end","line":1}`},
		"a comma more":       {kind: jsonType, body: "[{},]", status: 400, messages: "", answer: `{"records":1,"error":"line 1: neither an object nor the end of the array","line":1}`},
		"after the array":    {kind: jsonType, body: "[]\n1", status: 400, answer: `{"records":0,"error":"line 2: more follows the array","line":2}`},
		"long line":          {kind: lines, body: two + "\n" + strings.Repeat("x", MaxLine+1), status: 413, messages: "a b", answer: `{"records":2,"error":"line 4: a line is too long","line":4}`},
		"long object":        {kind: jsonType, body: `{"msg":"` + strings.Repeat("x", MaxLine) + `"}`, status: 413, answer: `{"records":0,"error":"line 1: a line is too long","line":1}`},
		"too much":           {kind: lines, body: strings.Repeat(strings.Repeat("x", 1<<10)+"\n", 1<<11), status: 413, messages: "*", answer: `{"records":1023,"error":"line 1024: http: request body too large","line":1024}`},
		"bomb":               {kind: lines, encoding: "gzip", body: gzipped(strings.Repeat(strings.Repeat("x", 1<<10)+"\n", 1<<11)), status: 413, messages: "*", answer: `"error":"line`},
		"zstd bomb":          {kind: lines, encoding: "zstd", body: zstandard(strings.Repeat(strings.Repeat("x", 1<<10)+"\n", 1<<11)), status: 413, messages: "*", answer: `"error":"line`},
		"no gzip":            {kind: lines, encoding: "gzip", body: two, status: 400, answer: `{"records":0,"error":"line 1: gzip: invalid header","line":1}`},
		"half of gzip":       {kind: lines, encoding: "gzip", body: gzipped(two)[:20], status: 400, messages: "*", answer: `unexpected EOF`},
		"unknown encoding":   {kind: lines, encoding: "br", body: two, status: 415, answer: `{"records":0,"error":"the Content-Encoding is gzip or zstd, not \"br\""}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, body := range []io.Reader{strings.NewReader(test.body), iotest.OneByteReader(strings.NewReader(test.body))} {
				var recorder logtest.Recorder
				w := post(&recorder, Config{Body: 1 << 20}, body, "Content-Type", test.kind, "Content-Encoding", test.encoding)
				if w.Code != test.status || !strings.Contains(w.Body.String(), test.answer) {
					t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.answer)
				}
				if got := strings.Trim(strings.Join(recorder.Messages(), " "), " "); got != test.messages && test.messages != "*" {
					t.Errorf("records %.100q, want %q", got, test.messages)
				}
				if synced, _, _ := recorder.Synced(); synced != len(recorder.Records()) {
					t.Errorf("answered when %d of %d records were on disk", synced, len(recorder.Records()))
				}
				for _, r := range recorder.Records() {
					if r.Service != "api" {
						t.Fatalf("got service %q, want api", r.Service)
					}
				}
				if refused := len(recorder.Refused()) > 0; refused != (test.status == 400 || test.status == 413) {
					t.Errorf("refused %v", recorder.Refused())
				}
			}
		})
	}
}

// TestHandlerTakesEqualLines sends repeated lines, which compress to a thousandth of their size or less.
func TestHandlerTakesEqualLines(t *testing.T) {
	const lines = 20_000
	text := strings.Repeat(`{"level":"info","msg":"GET /healthz","status":200,"took":"1ms","remote":"10.0.0.1","agent":"probe"}`+"\n", lines)
	for encoding, body := range map[string]string{"gzip": gzipped(text), "zstd": zstandard(text)} {
		var recorder logtest.Recorder
		w := post(&recorder, Config{}, strings.NewReader(body), "Content-Encoding", encoding)
		if got := len(recorder.Records()); w.Code != 200 || got != lines {
			t.Errorf("%s, %d bytes: got %d %s and %d records, want %d", encoding, len(body), w.Code, w.Body, got, lines)
		}
	}
}

// TestEmptyRecordsAreFlushed: many records without text, which take hardly any bytes in a body, do not wait in memory for one flush.
func TestEmptyRecordsAreFlushed(t *testing.T) {
	const lines = 20_000
	for what, send := range map[string]func(*logtest.Recorder) *httptest.ResponseRecorder{
		"lines": func(recorder *logtest.Recorder) *httptest.ResponseRecorder {
			return post(recorder, Config{}, strings.NewReader(strings.Repeat("{}\n", lines)))
		},
		"bulk": func(recorder *logtest.Recorder) *httptest.ResponseRecorder {
			return ask(recorder, http.MethodPost, "/_bulk", strings.Repeat("{\"create\":{}}\n{}\n", lines))
		},
	} {
		var recorder logtest.Recorder
		most := 0
		recorder.OnFlush = func(context.Context) error {
			most = max(most, len(recorder.Added()))
			return nil
		}
		if w := send(&recorder); w.Code != 200 || len(recorder.Records()) != lines {
			t.Errorf("%s: got %d, %d records", what, w.Code, len(recorder.Records()))
		}
		if most > 4096 {
			t.Errorf("%s: up to %d records waited for a flush", what, most)
		}
	}
}

func TestHandlerWhenFull(t *testing.T) {
	for err, want := range map[error]int{
		fmt.Errorf("disk: %w", logs.ErrFull): 503, logs.ErrClosed: 503, context.DeadlineExceeded: 503, errors.New("disk on fire at /var/x"): 500,
	} {
		recorder := logtest.Recorder{OnFlush: func(context.Context) error { return err }}
		w := post(&recorder, Config{}, strings.NewReader("{}\n"))
		if w.Code != want || (w.Header().Get("Retry-After") != "") != (want == 503) || strings.Contains(w.Body.String(), "/var") {
			t.Errorf("%v: got %d %v %s, want %d", err, w.Code, w.Header(), w.Body, want)
		}
	}
}

// TestHandlerAnswersInTime: a request is answered before its connection is closed, even if no output accepts its records.
func TestHandlerAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		recorder := logtest.Recorder{OnFlush: func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		w := post(&recorder, Config{}, strings.NewReader("{}\n"))
		if took := time.Since(began); took > time.Minute || w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "an output that takes none") {
			t.Errorf("after %v: %d %v %s", took, w.Code, w.Header(), w.Body)
		}
	})
}

func TestHandlerBoundsRequestsAtOnce(t *testing.T) {
	var recorder logtest.Recorder
	h := Handler(func(*http.Request) input.Batcher { return &recorder }, Config{Requests: 1})
	second := httptest.NewRecorder()
	recorder.OnFlush = func(context.Context) error {
		recorder.OnFlush = nil
		h.ServeHTTP(second, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
		return nil
	}
	first := httptest.NewRecorder()
	h.ServeHTTP(first, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	if first.Code != 200 || second.Code != 429 || second.Header().Get("Retry-After") == "" {
		t.Errorf("got %d and %d, want 200 and 429", first.Code, second.Code)
	}
}

func TestHandlerRefuses(t *testing.T) {
	var recorder logtest.Recorder
	h := Handler(func(*http.Request) input.Batcher { return &recorder }, Config{})
	tests := map[string]struct {
		method, target string
		origin         string
		want           int
	}{
		"reading":          {http.MethodGet, "/", "", 405},
		"a page of others": {http.MethodPost, "/", "https://evil.example", 403},
	}
	for name, test := range tests {
		r := httptest.NewRequest(test.method, test.target, strings.NewReader("{}"))
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != test.want || len(recorder.Records()) > 0 {
			t.Errorf("%s: got %d, want %d", name, w.Code, test.want)
		}
	}
}

// TestSplitterLaw: a body is split into the same records, whatever the sizes of the reads.
func TestSplitterLaw(t *testing.T) {
	message := rapid.StringMatching(`[ -~]{0,40}`)
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.Bool().Draw(rt, "values")
		var body strings.Builder
		var want []string
		for i := range rapid.IntRange(0, 8).Draw(rt, "records") {
			frame := fmt.Sprintf("{\"m\":%q}", message.Draw(rt, "message"))
			want = append(want, frame)
			if values && i > 0 {
				body.WriteString(rapid.SampledFrom([]string{"", " ", "\n\n"}).Draw(rt, "between"))
			}
			if body.WriteString(frame); !values {
				body.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n \n"}).Draw(rt, "end"))
			}
		}
		for _, r := range []io.Reader{strings.NewReader(body.String()), iotest.OneByteReader(strings.NewReader(body.String())), iotest.DataErrReader(strings.NewReader(body.String()))} {
			s := newSplitter(r, values)
			var got []string
			for {
				frame, err := s.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					rt.Fatal(err)
				}
				got = append(got, string(frame))
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

func FuzzHandler(f *testing.F) {
	f.Add([]byte("{\"msg\":\"a\"}\nb\n"), "application/x-ndjson", "")
	f.Add([]byte("[{},{\"a\":[{}]}]"), "application/json", "")
	f.Add([]byte(gzipped("{}\n")), "", "gzip")
	f.Add([]byte(zstandard("{}\n")), "", "zstd")
	f.Fuzz(func(t *testing.T, body []byte, kind, encoding string) {
		var recorder logtest.Recorder
		w := post(&recorder, Config{Body: 1 << 20}, bytes.NewReader(body), "Content-Type", kind, "Content-Encoding", encoding)
		if w.Code == 500 || w.Code == 503 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		if w.Code == 200 && !strings.Contains(w.Body.String(), fmt.Sprintf(`"records":%d}`, len(recorder.Records()))) {
			t.Errorf("%d records were added, and the answer is %s", len(recorder.Records()), w.Body)
		}
	})
}
