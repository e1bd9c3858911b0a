package logs

import (
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

func TestRecordJSON(t *testing.T) {
	r := Record{
		Time: time.Date(2026, 5, 4, 3, 2, 1, 5e8, time.FixedZone("", 3600)), Level: slog.LevelWarn + 1, Service: "api", Message: "timed\nout \x1b[2J \"x\" größe\u009b\u202e\xff",
		Task: "main/a", Job: "01JX", Number: 17,
		Attrs: []slog.Attr{
			slog.Int("http.status", 503), slog.Float64("whole", 5), slog.Float64("nan", math.NaN()), slog.Uint64("big", math.MaxUint64), slog.Duration("took", 1500*time.Millisecond),
			slog.Bool("ok", true), slog.Time("at", time.Unix(1, 5).In(time.FixedZone("", 3600))), slog.Any("raw", json.RawMessage("{ \"a\":\n[1, \"\u009b\x7f\"]}")), slog.Any("none", json.RawMessage("{")),
			slog.String("http.status", "again"), slog.Any("tag", json.RawMessage("\"\U000e0041\"")),
		},
	}
	want := `{"time":"2026-05-04T02:02:01.5Z","level":"WARN+1","service":"api","message":"timed\nout \u001b[2J \"x\" größe\u009b\u202e\ufffd",` +
		`"task":"main/a","job":"01JX","number":17,"attrs":{"http.status":503,"whole":5.0,"nan":"NaN","big":18446744073709551615,"took":"1.5s",` +
		`"ok":true,"at":"1970-01-01T00:00:01.000000005Z","raw":{"a":[1,"\u009b\u007f"]},"none":"{","http.status":"again","tag":"\udb40\udc41"}}`
	got, err := json.Marshal(r)
	if err != nil || string(got) != want {
		t.Fatalf("got %s, %v\nwant %s", got, err, want)
	}
	if got, want := string((&Record{Time: time.Unix(0, 0), Service: "a"}).AppendJSON(nil)), `{"time":"1970-01-01T00:00:00Z","level":"INFO","service":"a","message":""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRecordJSONLaw: UnmarshalJSON reads the record that AppendJSON has written, except for the kinds that JSON does not have.
func TestRecordJSONLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := records().Draw(t, "record")
		want.Number = rapid.Uint64().Draw(t, "number")
		line := want.AppendJSON(nil)
		if strings.ContainsFunc(string(line), unicode.IsControl) {
			t.Fatalf("a control character in %s", line)
		}
		var got Record
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for i, a := range want.Attrs {
			switch a.Value.Kind() {
			case slog.KindUint64:
				if n := a.Value.Uint64(); n <= math.MaxInt64 {
					want.Attrs[i].Value = slog.Int64Value(int64(n))
				}
			case slog.KindDuration:
				want.Attrs[i].Value = slog.StringValue(a.Value.String())
			case slog.KindTime:
				want.Attrs[i].Value = slog.StringValue(a.Value.Time().Format(time.RFC3339Nano))
			case slog.KindFloat64:
				if f := a.Value.Float64(); math.IsInf(f, 0) || math.IsNaN(f) {
					want.Attrs[i].Value = slog.StringValue(a.Value.String())
				}
			}
		}
		if got, want := reported(&got), reported(&want); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

// FuzzRecordJSON: a record that UnmarshalJSON accepts is written in a form that it accepts again, with the same result.
func FuzzRecordJSON(f *testing.F) {
	f.Add([]byte(`{"time":"2026-05-04T02:02:01.5Z","level":"WARN+1","service":"api","message":"m","attrs":{"a":1,"b":[null],"c":1e400,"d":"x","a":1.5}}`))
	f.Add([]byte(`{"attrs":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again Record
		if json.Unmarshal(data, &r) != nil {
			return
		}
		line := r.AppendJSON(nil)
		if err := json.Unmarshal(line, &again); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if second := again.AppendJSON(nil); string(second) != string(line) {
			t.Fatalf("got %s\nwant %s", second, line)
		}
	})
}
