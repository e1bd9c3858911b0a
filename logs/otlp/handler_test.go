package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	bodies "github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// line returns a record as text.
func line(r *logs.Record) string {
	text := fmt.Sprintf("%s %v %s %q task=%q job=%q", r.Time.Format(time.RFC3339Nano), r.Level, r.Service, r.Message, r.Task, r.Job)
	for _, a := range r.Attrs {
		if raw, ok := a.Value.Any().(json.RawMessage); ok {
			text += fmt.Sprintf(" %s=%s", a.Key, raw)
			continue
		}
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
	}
	return text
}

func str(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

func kv(key string, v *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: v}
}

// ofAllKinds returns a request with all fields and all kinds of values, in the official types.
func ofAllKinds() *collector.ExportLogsServiceRequest {
	list := &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{
		{Value: &common.AnyValue_IntValue{IntValue: 1}}, str("a\"b"), {Value: &common.AnyValue_DoubleValue{DoubleValue: math.Inf(1)}}, {},
	}}}}
	pairs := &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: []*common.KeyValue{
		kv("x", str("1")), kv("deep", &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: []*common.KeyValue{kv("y", list)}}}}),
	}}}}
	at := uint64(time.Date(2026, 5, 4, 3, 2, 1, 500, time.UTC).UnixNano())
	return &collector.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{
		{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{kv("host.name", str("h1")), kv("service.name", str("api"))}},
			ScopeLogs: []*logspb.ScopeLogs{
				{
					Scope: &common.InstrumentationScope{Name: "lib", Version: "1.2", Attributes: []*common.KeyValue{kv("s", str("t"))}},
					LogRecords: []*logspb.LogRecord{
						{
							TimeUnixNano: at, ObservedTimeUnixNano: at + 1, SeverityNumber: 17, SeverityText: "Error", Body: str("no route"),
							Attributes: []*common.KeyValue{
								kv("http", pairs), kv("n", &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: -5}}), kv("ok", &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}}),
								kv("f", &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 0.5}}), kv("b", &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{0, 1}}}), kv("none", nil),
								kv("meanwhile.task", str("main/x")), kv("meanwhile.job", str("j1")),
							},
							TraceId: bytes.Repeat([]byte{0xab}, 16), SpanId: bytes.Repeat([]byte{0xcd}, 8), Flags: 1, DroppedAttributesCount: 2, EventName: "e",
						},
						{ObservedTimeUnixNano: at, Body: list},
					},
				},
				{LogRecords: []*logspb.LogRecord{{TimeUnixNano: at, SeverityText: "WARNING", Body: pairs}}},
			},
		},
		{ScopeLogs: []*logspb.ScopeLogs{{LogRecords: []*logspb.LogRecord{{SeverityNumber: 9, SeverityText: "Notice", TimeUnixNano: at, Body: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 7}}}}}}},
	}}
}

var linesOfAllKinds = []string{
	`2026-05-04T03:02:01.0000005Z ERROR api "no route" task="main/x" job="j1" host.name=h1 otel.scope.name=lib otel.scope.version=1.2 s=t http.x=1 http.deep.y=[1,"a\"b","+Inf",null] n=-5 ok=true f=0.5 b=AAE= none=null event_name=e trace_id=abababababababababababababababab span_id=cdcdcdcdcdcdcdcd trace_flags=1 dropped_attributes_count=2`,
	`2026-05-04T03:02:01.0000005Z INFO api "[1,\"a\\\"b\",\"+Inf\",null]" task="" job="" host.name=h1 otel.scope.name=lib otel.scope.version=1.2 s=t`,
	`2026-05-04T03:02:01.0000005Z WARN api "{\"x\":\"1\",\"deep\":{\"y\":[1,\"a\\\"b\",\"+Inf\",null]}}" task="" job="" host.name=h1`,
	`2026-05-04T03:02:01.0000005Z INFO unknown_service "7" task="" job="" severity_text=Notice`,
}

func post(t *testing.T, h http.Handler, contentType string, body []byte, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/logs", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func handlerTo(f input.Batcher) http.Handler {
	return Handler(func(*http.Request) input.Batcher { return f })
}

func packed(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHandlerProtobuf(t *testing.T) {
	body, err := proto.Marshal(ofAllKinds())
	if err != nil {
		t.Fatal(err)
	}
	for encoding, body := range map[string][]byte{"": body, "gzip": packed(t, body)} {
		var f logtest.Recorder
		w := post(t, handlerTo(&f), "application/x-protobuf", body, "Content-Encoding", encoding)
		var answer collector.ExportLogsServiceResponse
		if err := proto.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 || answer.PartialSuccess != nil {
			t.Errorf("%d %v %v", w.Code, err, &answer)
		}
		compare(t, f.Records(), linesOfAllKinds)
	}
}

func compare(t *testing.T, got []logs.Record, want []string) {
	t.Helper()
	for i := range got {
		if i >= len(want) || line(&got[i]) != want[i] {
			t.Errorf("record %d:\n%s", i, line(&got[i]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

func TestHandlerJSON(t *testing.T) {
	const body = `{"unknown":[1],"resourceLogs":[
		{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"h1"}},{"key":"service.name","value":{"stringValue":"api"}}]},
		 "scopeLogs":[{"scope":{"name":"lib","version":"1.2","attributes":[{"key":"s","value":{"stringValue":"t"}}]},"logRecords":[
			{"timeUnixNano":"1777863721000000500","observedTimeUnixNano":"1777863721000000501","severityNumber":17,"severityText":"Error","body":{"stringValue":"no route"},
			 "attributes":[{"key":"http","value":{"kvlistValue":{"values":[{"key":"x","value":{"stringValue":"1"}},{"key":"deep","value":{"kvlistValue":{"values":[
				{"key":"y","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"a\"b"},{"doubleValue":"Infinity"},{}]}}}]}}}]}}},
				{"key":"n","value":{"intValue":-5}},{"key":"ok","value":{"boolValue":true}},{"key":"f","value":{"doubleValue":0.5}},{"key":"b","value":{"bytesValue":"AAE="}},{"key":"none"},
				{"key":"meanwhile.task","value":{"stringValue":"main/x"}},{"key":"meanwhile.job","value":{"stringValue":"j1"}}],
			 "traceId":"ABABABABABABABABABABABABABABABAB","spanId":"cdcdcdcdcdcdcdcd","flags":1,"droppedAttributesCount":2,"eventName":"e"},
			{"observedTimeUnixNano":1777863721000000500,"body":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"a\"b"},{"doubleValue":"Infinity"},{}]}}}]}]},
		{"scopeLogs":null}]}`
	var f logtest.Recorder
	w := post(t, handlerTo(&f), "application/json; charset=utf-8", packed(t, []byte(body)), "Content-Encoding", "gzip")
	if w.Code != 200 || w.Body.String() != "{}" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	compare(t, f.Records(), linesOfAllKinds[:2])
}

func TestHandlerAnswers(t *testing.T) {
	good, err := proto.Marshal(ofAllKinds())
	if err != nil {
		t.Fatal(err)
	}
	const protobuf = "application/x-protobuf"
	tests := map[string]struct {
		contentType string
		header      []string
		body        []byte
		err         error
		status      int
		after       string
		text        string
	}{
		"empty":               {protobuf, nil, nil, nil, 200, "", ""},
		"empty JSON":          {"application/json", nil, []byte("{}"), nil, 200, "", "{}"},
		"nothing":             {"application/json", nil, nil, nil, 400, "", "malformed JSON"},
		"another type":        {"text/plain", nil, good, nil, 415, "", ""},
		"another encoding":    {protobuf, []string{"Content-Encoding", "br"}, good, nil, 415, "", ""},
		"no gzip":             {protobuf, []string{"Content-Encoding", "gzip"}, good, nil, 400, "", ""},
		"half a gzip":         {protobuf, []string{"Content-Encoding", "gzip"}, packed(t, good)[:100], nil, 400, "", ""},
		"cut":                 {protobuf, nil, good[:len(good)-3], nil, 400, "", "malformed"},
		"malformed JSON":      {"application/json", nil, []byte(`{"resourceLogs":[{"scopeLogs":7}]}`), nil, 400, "", "malformed JSON"},
		"an odd identity":     {"application/json", nil, []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"zz"}]}]}]}`), nil, 400, "", "malformed JSON"},
		"too large":           {protobuf, nil, make([]byte, MaxBody+1), nil, 413, "", "16 MiB"},
		"a bomb":              {protobuf, []string{"Content-Encoding", "gzip"}, packed(t, make([]byte, MaxBody+1)), nil, 413, "", "16 MiB"},
		"the disk is full":    {protobuf, nil, good, fmt.Errorf("append: %w", logs.ErrFull), 503, "30", "no room"},
		"another failure":     {protobuf, nil, good, errors.New("input/output error"), 503, "1", "not stored"},
		"depth without bound": {"application/json", nil, []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":` + strings.Repeat(`{"arrayValue":{"values":[`, 1000) + strings.Repeat(`]}}`, 1000) + `}]}]}]}`), nil, 400, "", "malformed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &logtest.Recorder{OnFlush: func(context.Context) error { return test.err }}
			w := post(t, handlerTo(f), test.contentType, test.body, test.header...)
			if w.Code != test.status || w.Header().Get("Retry-After") != test.after || !strings.Contains(w.Body.String(), test.text) {
				t.Errorf("%d, Retry-After %q, %q", w.Code, w.Header().Get("Retry-After"), w.Body)
			}
			if strings.ContainsRune(w.Body.String(), '\x1b') {
				t.Errorf("%q", w.Body)
			}
			if refuses := test.status/100 == 4 && test.status != 415; refuses != (len(f.Refused()) > 0) && test.status != 415 {
				t.Errorf("refused: %v", f.Refused())
			}
		})
	}
	r := httptest.NewRecorder()
	handlerTo(new(logtest.Recorder)).ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/v1/logs", nil))
	if r.Code != 405 {
		t.Errorf("GET: %d", r.Code)
	}
}

// TestHandlerAnswersInTime: a request is answered before its connection is closed, even if no output accepts its records, whether Flush or
// Sync waits for that.
func TestHandlerAnswersInTime(t *testing.T) {
	t.Run("end", func(t *testing.T) { answersInTime(t, "application/json", []byte("{}")) })
	t.Run("in between", func(t *testing.T) { answersInTime(t, "application/x-protobuf", multiplied(t, 10)) })
}

func answersInTime(t *testing.T, contentType string, body []byte) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &logtest.Recorder{OnFlush: func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		w := post(t, handlerTo(f), contentType, body)
		if took := time.Since(began); took > time.Minute || w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("after %v: %d %v %s", took, w.Code, w.Header(), w.Body)
		}
	})
}

// TestHandlerKeepsWhatItCouldRead: the records before malformed data are stored.
func TestHandlerKeepsWhatItCouldRead(t *testing.T) {
	body, err := proto.Marshal(ofAllKinds())
	if err != nil {
		t.Fatal(err)
	}
	var f logtest.Recorder
	w := post(t, handlerTo(&f), "application/x-protobuf", append(body, 0x0a, 0x7f))
	if w.Code != 400 || len(f.Records()) != 4 {
		t.Errorf("%d, %d records", w.Code, len(f.Records()))
	}
}

// TestHandlerBoundsAllBodies: concurrent bodies use a bounded amount of memory. A body for which there is none is refused with Retry-After.
func TestHandlerBoundsAllBodies(t *testing.T) {
	var f logtest.Recorder
	h := handlerTo(&f).(*handler)
	budget := h.bodies.Budget.(*meanwhile.Semaphore)
	if !budget.TryAcquire(inFlight - 1<<10) {
		t.Fatal("no room")
	}
	w := post(t, h, "application/x-protobuf", make([]byte, 4096))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d", w.Code)
	}
	budget.Release(inFlight - 1<<10)
	if w = post(t, h, "application/x-protobuf", nil); w.Code != 200 || budget.InUse() != 0 {
		t.Errorf("got status %d, and %d bytes in use afterwards, want 200 and 0", w.Code, budget.InUse())
	}
}

func TestTooManyAttributes(t *testing.T) {
	r := logs.Record{Service: "api"}
	for i := range MaxAttrs + 7 {
		r.Attrs = append(r.Attrs, slog.Int("n", i))
	}
	var f logtest.Recorder
	if w := post(t, handlerTo(&f), "application/x-protobuf", encode(nil, []logs.Record{r})); w.Code != 200 {
		t.Error(w.Code)
	}
	got := f.Records()[0].Attrs
	if last := got[len(got)-1]; len(got) != MaxAttrs+1 || last.Key != droppedKey || last.Value.Uint64() != 7 {
		t.Errorf("%d attributes, the last is %v", len(got), last)
	}
}

// A heap is a batcher that counts the bytes of the records that were not flushed yet.
type heap struct {
	logtest.Recorder
	waits, most, all int
}

func (h *heap) Add(v *logs.View) {
	h.waits += len(v.Message) + len(v.EncodedAttrs())
	h.most = max(h.most, h.waits)
	h.all++
}

func (h *heap) Flush(ctx context.Context) error {
	h.waits = 0
	return h.Recorder.Flush(ctx)
}

// multiplied returns a body whose records are many times as large as the body, since each has the attributes of the resource.
func multiplied(t *testing.T, records int) []byte {
	t.Helper()
	scope := &logspb.ScopeLogs{}
	for range records {
		scope.LogRecords = append(scope.LogRecords, &logspb.LogRecord{Body: str("x")})
	}
	body, err := proto.Marshal(&collector.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: []*common.KeyValue{kv("service.name", str("api")), kv("long", str(strings.Repeat("x", 100_000)))}},
		ScopeLogs: []*logspb.ScopeLogs{scope},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRecordsAreHandedOnAsTheyCome(t *testing.T) {
	const records = 2000
	body := multiplied(t, records)
	var f heap
	if w := post(t, handlerTo(&f), "application/x-protobuf", body); w.Code != 200 || f.all != records {
		t.Errorf("%d, %d records", w.Code, f.all)
	}
	if f.most > 1<<20 {
		t.Errorf("up to %d bytes of records waited for a flush, with a body of %d", f.most, len(body))
	}
	times := 0
	f.OnFlush = func(context.Context) error {
		if times++; times == 3 {
			return logs.ErrFull
		}
		return nil
	}
	if w := post(t, handlerTo(&f), "application/x-protobuf", body); w.Code != 503 || w.Header().Get("Retry-After") != "30" {
		t.Errorf("without buffer space in the middle: got %d %v", w.Code, w.Header())
	}
}

// TestEmptyRecordsAreHandedOnAsTheyCome: many records without texts and attributes, which take hardly any bytes in a body, do not wait in memory
// for one flush.
func TestEmptyRecordsAreHandedOnAsTheyCome(t *testing.T) {
	const records = 20_000
	for contentType, body := range map[string][]byte{
		"application/x-protobuf": appendBytes(nil, 1, appendBytes(nil, 2, bytes.Repeat([]byte{2<<3 | 2, 0}, records))),
		"application/json":       []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}` + strings.Repeat(",{}", records-1) + `]}]}]}`),
	} {
		var f logtest.Recorder
		most := 0
		f.OnFlush = func(context.Context) error {
			most = max(most, len(f.Added()))
			return nil
		}
		if w := post(t, handlerTo(&f), contentType, body); w.Code != 200 || len(f.Records()) != records {
			t.Errorf("%s: got %d, %d records", contentType, w.Code, len(f.Records()))
		}
		if most > 4096 {
			t.Errorf("%s: up to %d records waited for a flush", contentType, most)
		}
	}
}

// TestKeysWithinKeysAreBounded: the joined keys of nested attributes are bounded. Otherwise a long key with many keys below it could use up all
// memory.
func TestKeysWithinKeysAreBounded(t *testing.T) {
	const leaves = 500
	var list common.KeyValueList
	for range leaves {
		list.Values = append(list.Values, kv("x", str("y")))
	}
	pairs := &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &list}}
	record := &logspb.LogRecord{Body: str("hello"), Attributes: []*common.KeyValue{kv(strings.Repeat("k", 100_000), pairs), kv(strings.Repeat("l", maxKey-2), pairs)}}
	body, err := proto.Marshal(&collector.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{ScopeLogs: []*logspb.ScopeLogs{{LogRecords: []*logspb.LogRecord{record}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var f logtest.Recorder
	if w := post(t, handlerTo(&f), "application/x-protobuf", body); w.Code != 200 || len(f.Records()) != 1 {
		t.Fatalf("%d, %d records", w.Code, len(f.Records()))
	}
	attrs := f.Records()[0].Attrs
	size := 0
	for _, a := range attrs {
		size += len(a.Key)
	}
	last := attrs[len(attrs)-1]
	if len(attrs) != leaves+1 || size > leaves*maxKey+len(droppedKey) || last.Key != droppedKey || last.Value.Uint64() != leaves {
		t.Errorf("%d attributes with keys of %d bytes, the last is %v", len(attrs), size, last)
	}
}

// TestHandlerBoundsDecoding: a request in JSON is accepted only if there is memory for its body, for its translation.
func TestHandlerBoundsDecoding(t *testing.T) {
	body := []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"` + strings.Repeat("x", 3<<10) + `"}}]}]}]}`)
	for size, want := range map[int]int{20 << 10: 503, 24 << 10: 200} {
		budget := meanwhile.NewSemaphore(size)
		h := &handler{open: func(*http.Request) input.Batcher { return &logtest.Recorder{} }, bodies: bodies.Reader{Most: MaxBody, Budget: budget}}
		if w := post(t, h, "application/json", body); w.Code != want || !budget.TryAcquire(size) {
			t.Errorf("with %d bytes: got %d %s, want %d, and all bytes released", size, w.Code, w.Body, want)
		}
	}
}

// TestEmptyMessagesInJSON: the translation of messages without a field is about as long as their text.
func TestEmptyMessagesInJSON(t *testing.T) {
	list := `{}` + strings.Repeat(",{}", 1000)
	for _, text := range []string{
		`{"resourceLogs":[` + list + `]}`,
		`{"resourceLogs":[{"scopeLogs":[` + list + `]}]}`,
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + list + `]}]}]}`,
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[` + list + `]}]}]}]}`,
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"arrayValue":{"values":[` + list + `]}}}]}]}]}`,
	} {
		if b, err := fromJSON([]byte(text)); err != nil || len(b) > 3*len(text)/2 {
			t.Errorf("%.80s…: %d bytes became %d, %v", text, len(text), len(b), err)
		}
	}
}

// TestListsInJSONTakeLittleRoom: a list of many short members needs little more memory than its text.
func TestListsInJSONTakeLittleRoom(t *testing.T) {
	const size = 1 << 20
	for _, head := range []string{
		`{"resourceLogs":[`, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[`,
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"arrayValue":{"values":[`,
	} {
		tail := strings.NewReplacer("{", "}", "[", "]").Replace(strings.Map(func(r rune) rune {
			if r == '{' || r == '[' {
				return r
			}
			return -1
		}, head))
		closing := []byte(tail)
		slices.Reverse(closing)
		body := head + strings.Repeat("0,", size/2) + "0" + string(closing)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := fromJSON([]byte(body))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: got no error for numbers", head)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16*size {
			t.Errorf("%s: a body of %d bytes allocates %d", head, len(body), took)
		}
	}
}

// TestNestedValuesInJSONTakeLittleRoom: a value that is nested as deep as it may be is not copied for each level.
func TestNestedValuesInJSONTakeLittleRoom(t *testing.T) {
	const size = 1 << 20
	for _, level := range []string{`{"arrayValue":{"values":[`, `{"kvlistValue":{"values":[{"key":"k","value":`} {
		end := strings.Repeat("]}}", maxDepth)
		if strings.Contains(level, "key") {
			end = strings.Repeat("}]}}", maxDepth)
		}
		body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":` + strings.Repeat(level, maxDepth) + `{"stringValue":"` +
			strings.Repeat("x", size) + `"}` + end + `}]}]}]}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := fromJSON([]byte(body))
		runtime.ReadMemStats(&after)
		if err != nil || len(b) < size {
			t.Fatalf("%s: %d bytes, %v", level, len(b), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8*size {
			t.Errorf("%s: a body of %d bytes allocates %d", level, len(body), took)
		}
	}
}

func FuzzProtobuf(f *testing.F) {
	body, err := proto.Marshal(ofAllKinds())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte{0x0a, 2, 0x12, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		var recorder logtest.Recorder
		in := newIntake(t.Context(), &recorder)
		err := in.request(body)
		var official collector.ExportLogsServiceRequest
		if proto.Unmarshal(body, &official) == nil && err != nil && len(body) < 2*maxDepth {
			t.Errorf("refused: %v", err)
		}
		records := 0
		for _, r := range official.ResourceLogs {
			for _, s := range r.ScopeLogs {
				records += len(s.LogRecords)
			}
		}
		if err == nil && int(in.records) < records {
			t.Errorf("%d of %d records", in.records, records)
		}
		if len(recorder.Added()) > len(body) {
			t.Error("more records than bytes")
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"api"}}]},"scopeLogs":[{"scope":{"name":"x"},"logRecords":[{"timeUnixNano":"1","severityNumber":9,"body":{"kvlistValue":{"values":[{"key":"a","value":{"doubleValue":"NaN"}}]}},"traceId":"00"}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		body, err := fromJSON(text)
		if err != nil {
			return
		}
		if err := newIntake(t.Context(), new(logtest.Recorder)).request(body); err != nil {
			t.Errorf("%s became %x: %v", text, body, err)
		}
	})
}
