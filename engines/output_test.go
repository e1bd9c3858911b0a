//go:build unix

package engines

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A sample is a record that a program logs, with the expected OTLP record.
type sample struct {
	at      time.Time
	level   slog.Level
	message string
	attrs   []any

	number         int    // severity number
	severity, body string // in OTLP
	want           string // the expected attributes, with their kinds
}

const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

var samples = []sample{
	{
		at: time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC), level: slog.LevelInfo, number: 9, severity: "INFO",
		message: "one line", body: "one line",
	},
	{
		at: time.Unix(0, 1), level: slog.LevelError, number: 17, severity: "ERROR",
		message: "größer als\n\t\"zwei\" Zeilen \\ 🙂\r\n", body: "größer als\n\t\"zwei\" Zeilen \\ 🙂\r\n",
	},
	{
		at: time.Date(2026, 12, 31, 23, 59, 59, 999999999, time.UTC), level: slog.LevelWarn + 1, number: 14, severity: "WARN",
		message: "no UTF-8: \xff\x00.", body: "no UTF-8: \ufffd\x00.",
	},
	{at: time.Unix(1, 0), level: slog.LevelDebug, number: 5, severity: "DEBUG"},
	{at: time.Unix(1, 0), level: slog.LevelDebug - 4, number: 1, severity: "TRACE"},
	{at: time.Unix(1, 0), level: slog.LevelError + 4, number: 21, severity: "FATAL"},
	{at: time.Unix(1, 0), level: 100, number: 24, severity: "FATAL"},
	{
		at: time.Unix(2, 3), number: 9, severity: "INFO", message: "kinds", body: "kinds",
		attrs: []any{
			"text", "a\nb", "none", "", "größe", "ß", slog.Int64("least", math.MinInt64), slog.Int64("most", math.MaxInt64), slog.Uint64("unsigned", 7),
			slog.Uint64("beyond", math.MaxUint64), slog.Float64("float", 0.1), slog.Float64("whole", 3), slog.Float64("endless", math.Inf(-1)),
			slog.Float64("tiny", math.SmallestNonzeroFloat64), slog.Bool("yes", true), slog.Bool("no", false), slog.Duration("took", 1500*time.Microsecond),
			slog.Time("since", time.Date(2026, 5, 4, 5, 2, 1, 5, time.FixedZone("", 2*60*60))), slog.Group("http", slog.Int("status", 503), slog.Group("from", "host", "h")),
			slog.Any("error", errors.New("broken")), "bytes", []byte("raw"), "nil", nil,
		},
		want: `text="a\nb" none="" größe="ß" least=int -9223372036854775808 most=int 9223372036854775807 unsigned=int 7 ` +
			`beyond="18446744073709551615" float=double 0.1 whole=double 3 endless=double -Inf tiny=double 5e-324 yes=true no=false took="1.5ms" ` +
			`since="2026-05-04T03:02:01.000000005Z" http.status=int 503 http.from.host="h" error="broken" bytes="raw" nil=nothing`,
	},
	{
		at: time.Unix(2, 4), number: 9, severity: "INFO", message: "JSON", body: "JSON",
		attrs: []any{
			"list",
			[]any{1, "two", 2.5, nil, true, []int{}},
			"object",
			map[string]any{"b": map[string]any{}, "a": []string{"ß\n"}},
			"id", json.RawMessage(`{"n":9007199254740993,"least":-9223372036854775808,"beyond":18446744073709551615,"whole":1e3,"zero":-0.0}`),
			"deep", json.RawMessage(strings.Repeat("[", 33) + strings.Repeat("]", 33)),
		},
		want: `list=[int 1 "two" double 2.5 nothing true []] object={a=["ß\n"] b={}} ` +
			`id={beyond="18446744073709551615" least=int -9223372036854775808 n=int 9007199254740993 whole=double 1000 zero=double -0} ` +
			`deep=` + strings.Repeat("[", 32) + `"[]"` + strings.Repeat("]", 32),
	},
	{
		at: time.Unix(2, 5), number: 9, severity: "INFO", message: "fields", body: "fields",
		attrs: []any{"trace_id", trace, "span_id", span, "trace_flags", 1, "event_name", "opened", "dropped_attributes_count", 3},
	},
}

// TestFields: each field of a record arrives as documented, with the identity that the record has in the store.
func TestFields(t *testing.T) {
	sink := newSink(t)
	_, address := collect(t, sink.address, collecting{})
	s := serve(t, "otlp://"+address)
	const service = "größe / api"
	h := s.handler(t, service)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for i := range samples {
			r := slog.NewRecord(samples[i].at, samples[i].level, samples[i].message, 0)
			r.Add(samples[i].attrs...)
			if err := h.Handle(ctx, r); err != nil {
				return err
			}
		}
		return h.Flush(ctx)
	}, meanwhile.Name("import"), meanwhile.Attrs(slog.String("job.id", "01JX"), slog.String("queue", "mail")))
	if err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, 1)
	got := sink.taken()
	if len(got) != len(samples) {
		t.Fatalf("%d of %d records arrived", len(got), len(samples))
	}
	for i, want := range samples {
		r := got[i]
		stored := logs.Record{Service: service, Time: want.at, Message: want.message, Number: uint64(i + 1)}
		identity := stored.Identity()
		attrs := strings.TrimPrefix(want.want+` meanwhile.task="import" meanwhile.job="01JX" log.record.uid=`+strconv.Quote(identity), " ")
		if got := showAll(r.Attributes); got != `queue="mail" `+attrs {
			t.Errorf("%s\ngot  %s\nwant %s", want.message, got, `queue="mail" `+attrs)
		}
		if r.service != service || r.others != 0 || r.TimeUnixNano != uint64(want.at.UnixNano()) || r.ObservedTimeUnixNano != r.TimeUnixNano {
			t.Errorf("%s: service %q with %d other attributes, time %d, observed %d", want.message, r.service, r.others, r.TimeUnixNano, r.ObservedTimeUnixNano)
		}
		if int(r.SeverityNumber) != want.number || r.SeverityText != want.severity || show(r.Body) != strconv.Quote(want.body) {
			t.Errorf("%s: severity %d %q, body %s", want.message, r.SeverityNumber, r.SeverityText, show(r.Body))
		}
		fields := fmt.Sprint(hex.EncodeToString(r.TraceId), " ", hex.EncodeToString(r.SpanId), " ", r.Flags, " ", r.EventName, " ", r.DroppedAttributesCount)
		if want := map[bool]string{true: trace + " " + span + " 1 opened 3", false: "  0  0"}[want.message == "fields"]; fields != want {
			t.Errorf("%s: trace, span, flags, event and dropped attributes are %q, want %q", samples[i].message, fields, want)
		}
	}
}
