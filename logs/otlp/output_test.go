package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func anAttr() *rapid.Generator[slog.Attr] {
	return rapid.Custom(func(t *rapid.T) slog.Attr {
		key := rapid.SampledFrom([]string{"a", "http.status", "größe", ""}).Draw(t, "key")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return slog.Int64(key, rapid.Int64().Draw(t, "int"))
		case 1:
			return slog.Float64(key, rapid.Float64().Draw(t, "float"))
		case 2:
			return slog.Bool(key, rapid.Bool().Draw(t, "bool"))
		case 3:
			return slog.Any(key, json.RawMessage(`[1,"a",{"b":[true,null,0.5]}]`))
		}
		return slog.String(key, rapid.String().Draw(t, "text"))
	})
}

// TestRoundTripLaw: encoded records are decoded to the same records, and the official types can decode them.
func TestRoundTripLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) logs.Record {
			r := logs.Record{
				Time:    time.Unix(0, rapid.Int64Min(1).Draw(t, "time")).UTC(),
				Level:   slog.Level(rapid.IntRange(-8, 15).Draw(t, "level")),
				Service: "api",
				Message: rapid.String().Draw(t, "message"),
				Task:    rapid.String().Draw(t, "task"),
				Job:     rapid.String().Draw(t, "job"),
				Attrs:   rapid.SliceOfN(anAttr(), 0, 4).Draw(t, "attrs"),
			}
			if rapid.Bool().Draw(t, "traced") {
				r.Attrs = append(r.Attrs, slog.String("event_name", "e"), slog.String("trace_id", strings.Repeat("0f", 16)), slog.String("span_id", strings.Repeat("f0", 8)), slog.Int64("trace_flags", 1))
			}
			return r
		}), 1, 4).Draw(t, "records")
		body := encode([]byte("x"), records)[1:]
		if err := proto.Unmarshal(body, new(collector.ExportLogsServiceRequest)); err != nil {
			t.Fatal(err)
		}
		var f logtest.Recorder
		if err := newIntake(t.Context(), &f).request(body); err != nil {
			t.Fatal(err)
		}
		_ = f.Flush(t.Context())
		got := f.Records()
		if len(got) != len(records) {
			t.Fatalf("%d of %d records", len(got), len(records))
		}
		for i := range got {
			if got, want := line(&got[i]), line(&records[i]); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	})
}

// TestEncodeOddValues: a value for which OTLP has no kind becomes a text, and a value that does not fit into a field of OTLP stays an attribute.
func TestEncodeOddValues(t *testing.T) {
	r := logs.Record{Service: "api", Message: "a\xffb", Level: 100, Number: 5, Attrs: []slog.Attr{
		slog.Uint64("u", 1<<63), slog.Duration("d", time.Minute), slog.Time("t", time.Unix(0, 0)), slog.Any("raw", json.RawMessage("{")), slog.Any("two", json.RawMessage("1 2")),
		slog.String("trace_id", "no"), slog.Int("trace_flags", -1), slog.String("severity_text", "Emergency"),
	}}
	var f logtest.Recorder
	if err := newIntake(t.Context(), &f).request(encode(nil, []logs.Record{r})); err != nil {
		t.Fatal(err)
	}
	_ = f.Flush(t.Context())
	want := `1970-01-01T00:00:00Z ERROR+7 api "a�b" task="" job="" u=9223372036854775808 d=1m0s t=1970-01-01T00:00:00Z raw={ two=1 2 ` +
		`trace_id=no trace_flags=-1 log.record.uid=` + r.Identity() + ` severity_text=Emergency`
	r.Time = time.Time{}
	if got := line(&f.Records()[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestEncodeJSONNumbers: numbers in JSON keep all their digits, and integers stay integers.
func TestEncodeJSONNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`[1,-0,1.0,1e3,0.1,5e-324]`:                  `[1,0,1.0,1000.0,0.1,5e-324]`,
		`[9007199254740993,-9223372036854775808]`:    `[9007199254740993,-9223372036854775808]`,
		`[18446744073709551615,9223372036854775808]`: `["18446744073709551615","9223372036854775808"]`,
		`[[-0.0,1e400]]`:                             `[[-0.0,"1e400"]]`,
		`[1] [2]`:                                    `[1] [2]`,
	} {
		var f logtest.Recorder
		r := logs.Record{Service: "api", Attrs: []slog.Attr{slog.Any("list", json.RawMessage(text))}}
		if err := newIntake(t.Context(), &f).request(encode(nil, []logs.Record{r})); err != nil {
			t.Fatal(err)
		}
		_ = f.Flush(t.Context())
		if got := fmt.Sprintf("%s", f.Records()[0].Attrs[0].Value.Any()); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestEncodeDeepJSON: values that are nested deeper than a receiver accepts are encoded as text.
func TestEncodeDeepJSON(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 32) + "1" + strings.Repeat("]", 32):           strings.Repeat("[", 32) + "1" + strings.Repeat("]", 32),
		strings.Repeat("[", 34) + "1" + strings.Repeat("]", 34):           strings.Repeat("[", 32) + `"[[1]]"` + strings.Repeat("]", 32),
		strings.Repeat(`[{"a":`, 5000) + "1" + strings.Repeat("}]", 5000): strings.Repeat(`[{"a":`, 16) + strconv.Quote(strings.Repeat(`[{"a":`, 4984)+"1"+strings.Repeat("}]", 4984)) + strings.Repeat("}]", 16),
	} {
		var f logtest.Recorder
		r := logs.Record{Service: "api", Attrs: []slog.Attr{slog.Any("list", json.RawMessage(text))}}
		if err := newIntake(t.Context(), &f).request(encode(nil, []logs.Record{r})); err != nil {
			t.Fatalf("%.50s: %v", text, err)
		}
		_ = f.Flush(t.Context())
		if got := fmt.Sprintf("%s", f.Records()[0].Attrs[0].Value.Any()); got != want {
			t.Errorf("got  %.200s\nwant %.200s", got, want)
		}
	}
}

func TestOutputAnswers(t *testing.T) {
	partial, err := proto.Marshal(&collector.ExportLogsServiceResponse{PartialSuccess: &collector.ExportLogsPartialSuccess{RejectedLogRecords: 2, ErrorMessage: "too\x1b old"}})
	if err != nil {
		t.Fatal(err)
	}
	some, refused, again := "some are refused", "all are refused", "try again"
	for name, test := range map[string]struct {
		status int
		answer []byte
		want   string
	}{
		"taken":           {200, nil, ""},
		"partly":          {200, partial, some},
		"not protobuf":    {200, []byte("<html>"), ""},
		"no good":         {400, nil, refused},
		"too large":       {413, nil, refused},
		"no path":         {404, nil, again},
		"not allowed":     {401, nil, again},
		"too many":        {429, nil, again},
		"not there":       {503, nil, again},
		"failed":          {500, nil, again},
		"somewhere else":  {307, nil, again},
		"nothing is said": {0, nil, again},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/logs" || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("X-Tenant") != "7" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if test.status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(test.status)
			_, _ = w.Write(test.answer)
		}))
		output, err := NewOutput(server.URL, http.Header{"X-Tenant": {"7"}})
		if err != nil {
			t.Fatal(err)
		}
		err = output.Send(t.Context(), make([]logs.Record, 3))
		got := again
		if some, ok := errors.AsType[*forward.RefusedError](err); ok {
			got = "some are refused"
			if some.Count != 2 || some.Why != "too  old" {
				t.Errorf("%s: %v", name, err)
			}
		} else if errors.Is(err, forward.ErrRefused) {
			got = refused
		} else if err == nil {
			got = ""
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, test.want, err)
		}
		_ = output.Close()
		server.Close()
	}
}
